"""Types of fields, from the sources of k8s-openapi."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from ..fields import files, read

CONTAINER = """\
/// A container.
pub struct Container {
    /// Arguments.
    pub args: Option<std::vec::Vec<std::string::String>>,

    /// Where its image is pulled from.
    pub image_pull_policy: Option<std::string::String>,

    pub env: Option<std::vec::Vec<crate::api::core::v1::EnvVar>>,

    pub type_: Option<bool>,

    pub limits: Option<std::collections::BTreeMap<std::string::String, crate::apimachinery::pkg::api::resource::Quantity>>,

    pub status: Option<crate::api::core::v1::ContainerStatus>,

    pub name: std::string::String,

    pub ports: std::vec::Vec<i32>,
}

                        Ok(match v {
                            "args" => Field::Key_args,
                            "imagePullPolicy" => Field::Key_image_pull_policy,
                            "type" => Field::Key_type_,
"""


class Fields(unittest.TestCase):
    def test_fields_have_their_names_and_types_in_json(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "api/core/v1/container.rs"
            path.parent.mkdir(parents=True)
            path.write_text(CONTAINER)
            found = files(Path(directory))
            self.assertEqual(found, {"api::core::v1::Container": path})
            fields, used = read(path, "Container")
            of_patches, _ = read(path, "PodSpec")
        expected = {
            "args": "list string",
            "imagePullPolicy": "string",
            "env": "list EnvVar",
            "type": "bool",
            "limits": "map quantity",
            "status": "any",
            # Kubernetes requires the name, and KServe does not.
            "name": "string",
            "ports": "required list int",
        }
        self.assertEqual(fields, expected)
        self.assertEqual(of_patches["ports"], "list int")
        self.assertEqual(used, ["api::core::v1::EnvVar"])


if __name__ == "__main__":
    unittest.main()
