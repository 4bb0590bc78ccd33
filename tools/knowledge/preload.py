"""What `torch/__init__.py` loads before its extension module, compared with the release before."""

from __future__ import annotations

import ast

# Functions that decide it, in any release since 2.0.
FUNCTIONS = ("_get_cuda_dep_paths", "_preload_cuda_lib", "_preload_cuda_deps", "_load_global_deps")


def functions(text: str) -> dict[str, str]:
    """The statements of each function, without comments and places."""
    found = {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef) and statement.name in FUNCTIONS:
            found[statement.name] = ast.dump(statement)
    return found


def libraries(text: str) -> list[tuple[str, str]]:
    """The libraries, as folder and pattern, in the order in which they are loaded."""
    pairs = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "_preload_cuda_deps":
            for node in ast.walk(statement):
                pairs += _pairs(node)
    return pairs


def _pairs(node: ast.AST) -> list[tuple[str, str]]:
    if isinstance(node, ast.Dict):
        items = list(zip(node.keys, node.values))
    elif isinstance(node, ast.List):
        items = [(item.elts[0], item.elts[1]) for item in node.elts if isinstance(item, ast.Tuple) and len(item.elts) == 2]
    else:
        return []
    return [
        (str(key.value), str(value.value))
        for key, value in items
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant) and "lib" in str(value.value)
    ]


def differences(before: str, after: str) -> list[str]:
    """What a person must look at; empty if both releases load the same in the same way."""
    old, new = libraries(before), libraries(after)
    lines = [f"no longer preloads `{folder}/{name}`" for folder, name in old if (folder, name) not in new]
    lines += [f"preloads `{folder}/{name}`, too" for folder, name in new if (folder, name) not in old]
    if not lines and old != new:
        lines.append("preloads the same libraries in a different order: " + ", ".join(name for _, name in new))
    earlier, later = functions(before), functions(after)
    for name in FUNCTIONS:
        if earlier.get(name) != later.get(name):
            change = "is new" if name not in earlier else "is gone" if name not in later else "has changed"
            lines.append(f"`{name}` {change}")
    return lines
