#!/usr/bin/env python3
# rye:signed:2026-01-02T03:04:05Z:06cfba0d114b2da65fb85a5a4aba22e24ce25c0c389b97278e73886983e3cc72:m311QfGc7b9GtP4s9f9ddTvz-_Q9SAfrXC8G5IyfvlL6YtQoFXXWliA2TMeviKFKzpb2-hSEqPB__q9bh6V_AQ:f0ff50dacf109dea junk
"""v3"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/script"
__category__ = "vec"
__tool_description__ = "v3"
