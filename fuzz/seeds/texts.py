#!/usr/bin/env python3
"""Seeds of the targets that read texts: versions, rule files, expressions, configuration, files that images are built from.

    fuzz/seeds/texts.py

Rules and expressions are the built-in ones. The same seeds are made every time.
"""

import hashlib
import pathlib
import re

from common import write

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Larger rule files take long to check, larger expressions to change.
SMALL_RULE = 3500
SMALL_EXPRESSION = 500

VERSIONS = {
    "python": ["2.8.0+cu128", "2.8.0a0+34c6371d24.nv25.8", "2.10.0rc1", ">=2.8,<3,!=2.9.*",
               'platform_system == "Linux" and (python_version >= "3.8" or extra == \'gpu\')',
               'torch[opt-einsum,x] (>=2.8,<3) ; python_version < "3.13"'],
    "debian": ["1:8.9.7.29-1+cuda12.2", "9.10.2~rc1-1", "9.10.2-1", "==12.8", "'3.8' <= python_version",
               "nvidia-cudnn-cu12==9.10.2.21"],
    "system": ["ubuntu22.04", "debian12", "3.18.4", "==ubuntu22.04", "sys_platform not in 'win32 darwin'", "torch"],
    "driver": ["535.183.06", "570.26", "sm_90a", "~=2.8", "python_full_version ~= '3.11'", "x ~=1.0; os_name == \"nt\""],
    "epoch": ["1!2.0.post1.dev3", "2!0", "v2.9", "===2.8.0", "platform_machine in 'x86_64 aarch64'", "A.B_c-D>=1,<2"],
    "long-numbers": ["18446744073709551616.1", "00000.0", "1." * 60, ">" + "9" * 60, "(" * 12 + "os_name == 'posix'" + ")" * 12, "a" * 90],
}

EXPRESSIONS = [
    "1 + 2 * 3 == 7", "'a' + 'b' in ['ab']", "{'a': 1}.a", "[1, 2, 3].map(x, x * x).exists(y, y > 5)", "1u + 2u", "b'abc'",
    "copies.filter(c, copies.exists(d, d.path != c.path && d.name == c.name)).size() > 0", "r'\\d+'.matches('a')",
    "'x'.matches('(a*)*b')", "stack.torch.version.split('.')[0]", "newer(versions.cuda, '12.8')", "-9223372036854775808 / -1",
    "duration('1h') + duration('1s')", "timestamp('2020-01-01T00:00:00Z') < timestamp('2021-01-01T00:00:00Z')",
    "[[1]].map(x, x.map(y, x.map(z, y + z)))", "a.?b.orValue(1)", "has(image.tag)", "type(1) == int", "'%s %d'.format(['a', 1])",
    "{it} and {image.reference == '' ? 'none' : \"<\" + image.reference + \">\"}", "!!!!!true", "((((((((1))))))))",
    "9223372036854775807 + 1", "1 / 0", "1 % 0", "'a' < 1", "[].max()", "[1, 'a', null, true, 1.5]", "\"\\u00e9\\n\".size()",
    "loader.mapped.all(o, o.path.startsWith('/'))", "range(1, 3)", "lists.range(4)", "'äöü'.substring(1, 2)", "'abc'.charAt(5)",
]

CONFIGURATIONS = {
    "all-keys": """fail-on: error
rules: [ci/rules]
severities:
  claim-floating-tag: warning
  cuda-*: off
targets:
  - {name: training, gpus: [a100, h100], driver: "535.183.06"}
expect:
  - "torch==2.8.*"
  - "cudnn>=9.7"
stacks:
  - {name: current, torch: "2.8.*", cuda: "12.8", cudnn: ">=9.7"}
  - {name: previous, torch: "2.5.*", nccl: none}
consistent: [cudnn, nccl]
ignore:
  - rule: load-shadowed-library
    image: "registry.example/team/*"
    path: "/opt/legacy/*"
    reason: "vendor image"
    expires: 2027-03-01
baseline: imgcheck-baseline.json
""",
    "aliases": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n<<: *a\n",
    "merge": "ignore:\n  - &one {rule: load-*, reason: r}\n  - <<: *one\n    path: /x\n",
    "nested": "[" * 60 + "]" * 60,
    "duplicate": "fail-on: note\nfail-on: never\n",
    "unknown": "fial-on: note\n",
    "tags": "expect: !!python/object [!!binary aGk=, !!str 1, !x y]\n",
    "blocks": "rules:\n- |2-\n    a\n- >+\n  b\n\n- \"\\u263a\\x41\"\n- 'it''s'\n",
    "documents": "%YAML 1.2\n---\nfail-on: note\n...\n---\nx\n",
    "numbers": "targets: [{name: 1, gpus: [90, 0x10, 1e3, .inf], driver: 535.183}]\n",
    "not-ascii": "ignore:\n  - rule: \u00e9\u00e9\u00e9\n    reason: \u202e\u2066\n",
    "recipes": """libraries:
  - library: x
    source: a test
    files: [{part: a, exports: [f], soname: '^libx\\.', returns: {export: f, value: 34}}]
    readings:
      - {fact: version, decode: thousands-and-tens, from: {string: {pattern: '(\\d+)', unique: true}}, deep: true}
      - {fact: version, from: cudnn-records}
everywhere: [{fact: y, from: static-cudart}]
unidentified: {library: z}
""",
}

DOCKERFILE = """# syntax=docker/dockerfile:1
# escape=\\
ARG CUDA=12.8.1
FROM nvidia/cuda:${CUDA%.*}.1-cudnn-devel-ubuntu22.04 AS build
ARG TORCH="2.8.0" INDEX=https://download.pytorch.org/whl/cu${CUDA//./}
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LD_LIBRARY_PATH A="b c" D=${E:-f}
RUN --mount=type=bind,source=requirements.txt,target=/r.txt \\
    pip install --no-cache-dir -r /r.txt "torch==${TORCH}" --index-url $INDEX && \\
    apt-get install -y libcudnn9-cuda-12=9.10.2.21-1 || true; conda install -c pytorch pytorch=2.5.1
SHELL ["/bin/bash", "-c"]
RUN ["pip", "install", "torch"]
RUN <<EOF
pip install 'jax[cuda12]==0.4.30'
echo /usr/local/cuda/lib64/stubs > /etc/ld.so.conf.d/x.conf
EOF
COPY <<-"END" requirements.txt /app/
\ttorch==2.9.0
\tEND
FROM build
COPY --from=build /a /b
COPY requirements.txt environment.yml ./
RUN python -m pip install -r requirements.txt
"""

REQUIREMENTS = """# comment
--index-url https://download.pytorch.org/whl/cu128
-r more.txt
-c constraints.txt
torch==2.8.0+cu128 \\
    --hash=sha256:0000
torchvision ~= 0.23 ; python_version < "3.13"
xformers @ https://example.org/xformers-0.0.30+cu128-cp311-cp311-linux_x86_64.whl
nvidia-cudnn-cu12[x] (>=9,<10)
./local
-e git+https://example.org/x.git#egg=x
${TORCH}
"""

LINTED = {
    "dockerfile": "D" + DOCKERFILE + "%% requirements.txt\ntorch==2.8.0\n%% environment.yml\ndependencies:\n- pytorch=2.5\n",
    "dockerfile-variables": "DFROM a\nENV A=$A$A B=${A:+${B:-$A}} C='$A' D=\"`x`\" E=$(x)\nRUN A=1 pip install torch==$A.$B && cd /x; (pip install a)\n",
    "dockerfile-windows": "D# escape=`\r\nFROM a`\r\n  AS b\r\nSHELL [\"powershell\"]\r\nRUN pip install torch\r\n",
    "dockerfile-wrong": "DFRMO a\n",
    "requirements": "R" + REQUIREMENTS + "%% more.txt\ntorch<2.8\n-r requirements.txt\n%% constraints.txt\ntorch!=2.7\n",
    "environment": """Ename: x
channels: [pytorch, nvidia, conda-forge]
dependencies:
  - python=3.11
  - pytorch::pytorch==2.5.1=py3.11_cuda12.4_cudnn9.1.0_0
  - "pytorch-cuda[version='>=12.1']"
  - cudatoolkit>=11,<12
  - pip:
      - torch==2.8.0
      - -r requirements.txt
variables: {LD_LIBRARY_PATH: /x}
%% requirements.txt
torchvision==0.20
""",
    "pyproject": """P[project]
name = "x"
requires-python = ">=3.10"
dependencies = ["torch==2.8.0", 'torchvision>=0.23 ; sys_platform == "linux"']
[project.optional-dependencies]
gpu = ["jax[cuda12]"]
[dependency-groups]
dev = ["torch<2.8", {include-group = "gpu"}]
[tool.poetry.dependencies]
torch = {version = "^2.8", source = "pytorch"}
[[tool.poetry.source]]
name = "pytorch"
url = "https://download.pytorch.org/whl/cu126"
[tool.uv.sources]
torch = [{index = "pytorch-cu128", marker = "sys_platform == 'linux'"}]
[[tool.uv.index]]
name = "pytorch-cu128"
url = "https://download.pytorch.org/whl/cu128"
[tool.pixi.dependencies]
pytorch = "2.5.*"
""",
}


def rules():
    """Writes the smaller of the built-in rules; the smaller expressions of all."""
    keys = "when|each|fail|once|explains|at|severity"
    scalar = re.compile(rf"^(?:{keys}): (?!\|)(\S.*)\n|^(?:{keys}): \|\n((?:  .*\n|\n)+)", re.M)
    expressions = set()
    for path in sorted((ROOT / "rules").rglob("*.yaml")):
        text = path.read_text()
        if "knowledge" in path.parts:
            continue
        if len(text) <= SMALL_RULE:
            write("rule_file", path.stem, text)
        expressions.update((one or several).strip() for one, several in scalar.findall(text))
    return sorted(text for text in expressions if len(text) <= SMALL_EXPRESSION)


def main():
    for name, lines in VERSIONS.items():
        write("version_text", name, "\n".join(lines))
    for text in [*rules(), *EXPRESSIONS]:
        write("expression", hashlib.sha256(text.encode()).hexdigest()[:16], text)
    for name, text in CONFIGURATIONS.items():
        write("config_file", name, text)
    for name, text in LINTED.items():
        write("lint_file", name, text)
    write("rule_file", "short", "id: x\ntitle: T\nseverity: error\nconfidence: high\nsince: 0.1.0\nfail: 'true'\nmessage: M\nwhy: W\n")


if __name__ == "__main__":
    main()
