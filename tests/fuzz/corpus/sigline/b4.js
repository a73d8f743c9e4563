// rye:signed:2026-01-02T03:04:05Z:81663847261b0f84aba268d53fbcc8fe126554662d08c01989249428b0f52782:dWk-Q40e114B9iIpziww9-TU2pZ97KfD9cs94TW3VsE5NgIqm4HbArRzAc7xdwSLaG4pXmu3WYusk_vGSamoBA:f0ff50dacf109dea
// rye:full:1:-DCq-fHYFValIVKghPmBSb18ECcBEmQdxJoU93WQBki0BIWsmPCF2PkP2JFSfX3k48j28hG0D4gplAXkm_3sAw:f0ff50dacf109dea
export const __version__ = "1.0.0";
export const __tool_type__ = "javascript";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "vec";
export const __tool_description__ = "b4";
export default (p) => ({ success: true, output: "b4" });
