#!/usr/bin/env python3
# rye:signed:2026-01-02T03:04:05Z:5821914ff5641e326e31fc89e29325b192471f2e3deb074c08a84bdac4253a28:8DvyAzmFg4xU8OvGCEU_UtRZJtk4snqPG3v1875aSHLPD1SdrskDIBd736x-uU_uk2H8r4B9hHPwdUdxUccxAA:f0ff50dacf109dea
# rye:full:1:8DUwuvYuO5RJ2JllA-f5GmkCv7avqOTs_pRbh1ANr-gfQHbxn85-OKRVzft9l4vB7OYgYAUKpM0S71e9qe2nBw:f0ff50dacf109dea
"""b2"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "vec"
__tool_description__ = "b2"


def execute(params, project_path):
    return {"success": True, "output": "b2"}
