// Greet somebody by name.
//
// The exported constants are the tool's metadata. They are read, not run, so each is a literal.

export const __version__ = "1.0.0";
export const __tool_type__ = "javascript";
// What runs it: Node, which strips the types itself from 22.13 on, else with esbuild or typescript.
export const __executor_id__ = "rye/core/runtimes/node/node";
// The directory below .ai/tools that this file lies in.
export const __category__ = "@CATEGORY@";
// What people and models choose it by.
export const __tool_description__ = "Greet somebody by name";
// All that it may do. Others are "fs.write" (files of the project), "net.*" and "shell.execute".
export const __requires__ = ["fs.read"];

// JSON Schema of the parameters: they are checked before the call, and defaults are filled in.
export const CONFIG_SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, description: "Whom to greet" },
    loud: { type: "boolean", default: false, description: "In capitals" },
  },
  required: ["name"],
  additionalProperties: false,
};

interface Params {
  name: string;
  loud: boolean;
}

// params fits the schema; project is the directory that holds .ai.
export default async function (params: Params, project: string): Promise<{ success: boolean; output: string }> {
  const greeting: string = `Hello, ${params.name}!`;
  // "output" is shown to people; other members go to the caller, too. A run that fails returns
  // { success: false, error: "what was wanted" }.
  return { success: true, output: params.loud ? greeting.toUpperCase() : greeting };
}
