"""Fields of the objects of Kubernetes and their types, from the sources of the crate k8s-openapi:

    python3 -m knowledge.fields k8s-openapi-0.29.0/src/v1_37 > rules/knowledge/kubernetes-fields.yaml
"""

import re
import sys
from pathlib import Path

# Objects that start containers, and those that these refer to.
OBJECTS = {
    "": ["ConfigMap", "Pod", "PodTemplate", "ReplicationController", "Secret"],
    "apps": ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    "batch": ["CronJob", "Job"],
}
# Texts in JSON, whatever they say.
TEXTS = {"String", "Time", "MicroTime", "ByteString"}
# Types with rules of their own, which other tests have.
OWN = {"IntOrString": "int-or-string", "Quantity": "quantity"}
SCALARS = {"bool": "bool", "i32": "int", "i64": "int", "f64": "number"}
# Types of which a manifest may have a part only, as patches do.
PATCHED = {name + suffix for names in OBJECTS.values() for name in names for suffix in ("", "Spec")}
# Fields that are there in the types of the crate, but that manifests may leave out: the API server gives them a value, or KServe the name.
OPTIONAL = {
    ("Container", "name"),
    ("EvictionResponder", "priority"),
    ("HTTPHeader", "value"),
    ("ISCSIVolumeSource", "lun"),
    ("LocalObjectReference", "name"),
    ("PersistentVolumeClaim", "metadata"),
    ("SleepAction", "seconds"),
}
STRUCT = re.compile(r"^pub struct \w+ \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^    pub (?:r#)?(\w+): (.+),$", re.M)
KEY = re.compile(r'^\s*"([^"]+)" => Field::Key_(\w+),$', re.M)


def type_of(written, used):
    """The type of a field in the words of the table; adds the types of maps that it consists of."""
    for wrapper, word in (("Option<", ""), ("std::vec::Vec<", "list "), ("std::collections::BTreeMap<std::string::String, ", "map ")):
        if written.startswith(wrapper):
            return word + type_of(written.removeprefix(wrapper)[:-1], used)
    name = written.rsplit("::", 1)[-1]
    if name in TEXTS:
        return "string"
    if name in SCALARS or name in OWN:
        return SCALARS.get(name) or OWN[name]
    # Nobody writes the status of an object.
    if not written.startswith("crate::api") or name.endswith("Status"):
        return "any"
    used.append(written.removeprefix("crate::"))
    return name


def read(path, name):
    """The fields of the type with this name in a file, and the types that these use."""
    text = path.read_text()
    keys = {rust: json for json, rust in KEY.findall(text)}
    used, fields = [], {}
    for rust, written in FIELD.findall(STRUCT.search(text)[1]):
        key = keys.get(rust, rust)
        is_required = not written.startswith("Option<") and (name, key) not in OPTIONAL and name not in PATCHED
        fields[key] = ("required " if is_required else "") + type_of(written, used)
    return fields, used


def files(directory):
    """The files of types by their names in Rust: `api::core::v1::EnvVar`."""
    found = {}
    for path in directory.rglob("*.rs"):
        parts = path.relative_to(directory).parent.parts
        for name in re.findall(r"^pub struct (\w+) \{", path.read_text(), re.M):
            found["::".join([*parts, name])] = path
    return found


def main():
    directory = Path(sys.argv[1])
    sources = files(directory)
    wanted = [f"api::{group or 'core'}::v1::{name}" for group, names in OBJECTS.items() for name in names]
    found, known = {}, {}
    while wanted:
        path = wanted.pop()
        name = path.rsplit("::", 1)[-1]
        if path in known or path not in sources:
            continue
        assert name not in known.values(), f"two types {name}"
        known[path] = name
        found[name], used = read(sources[path], name)
        wanted += used
    release = directory.name.removeprefix("v").replace("_", ".")
    print(f"# Fields of objects that start containers, as the API server of Kubernetes {release} knows them. `objects` are the types of whole objects, by API group. A")
    print("# type is a map of fields; `list T` and `map T` hold others, `required T` has to be there, and `any` is not judged. A later release may have more fields.")
    print("# Made by tools/knowledge/fields.py.")
    print(f'source: "the crate {directory.parent.parent.name}, which is generated from the OpenAPI document of Kubernetes {release}"')
    print("objects:")
    for group, names in OBJECTS.items():
        print(f'  "{group}": [{", ".join(names)}]')
    print("types:")
    for name, fields in sorted(found.items()):
        kinds = ({"apiVersion": "string", "kind": "string"} if "metadata" in fields else {}) | fields
        print(f"  {name}:")
        for key, kind in sorted(kinds.items()):
            kind = kind if kind.split()[-1] in found or kind.islower() else "any"
            print(f"    {key}: {kind}")


if __name__ == "__main__":
    main()
