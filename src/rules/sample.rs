//! Facts of the container toolkit and of Python environments for trying expressions: one of everything.

use super::facts::PythonFacts;
use crate::stack::UnmetRequirement;
use crate::stack::container_toolkit::{
    AlternativeFacts, Capabilities, Constraint, ContainerToolkit, Devices, DriverFile, DriverNeed,
    Invalid, OldestDriver, Operator, Property, RequirementFacts,
};

pub(super) fn container_toolkit() -> ContainerToolkit {
    ContainerToolkit {
        legacy: false,
        requirements_disabled: false,
        requirements: vec![RequirementFacts {
            variable: "NVIDIA_REQUIRE_CUDA".to_owned(),
            text: "cuda>=12.8".to_owned(),
            alternatives: vec![AlternativeFacts {
                constraints: vec![Constraint {
                    property: Property::Cuda,
                    operator: Operator::GreaterEqual,
                    value: "12.8".to_owned(),
                }],
            }],
            invalid: vec![Invalid {
                text: "cuda".to_owned(),
                problem: "it has no operator".to_owned(),
            }],
        }],
        oldest: Some(OldestDriver {
            branch: "570".to_owned(),
            cuda: "12.8".to_owned(),
            driver: "570.26".to_owned(),
        }),
        contradictory: false,
        newer_than_known: false,
        capabilities: Capabilities {
            text: Some("compute,utility".to_owned()),
            enabled: vec!["compute".to_owned()],
            unknown: vec!["gpu".to_owned()],
        },
        devices: Devices {
            text: Some("all".to_owned()),
            visible: true,
        },
        driver_files: vec![DriverFile {
            layer: Some(0),
            version: "535.261.03".to_owned(),
            ..DriverFile::default()
        }],
        needs: vec![DriverNeed {
            layer: Some(0),
            ..DriverNeed::default()
        }],
    }
}

pub(super) fn python() -> PythonFacts {
    PythonFacts {
        unmet_requirements: vec![UnmetRequirement {
            distribution: "torchvision".to_owned(),
            version: "0.23.0".to_owned(),
            requirement: "torch==2.8.0".to_owned(),
            name: "torch".to_owned(),
            specifiers: "==2.8.0".to_owned(),
            pin: "2.8.0".to_owned(),
            found: "2.9.0".to_owned(),
            layer: Some(0),
            found_layer: Some(0),
            ..UnmetRequirement::default()
        }],
    }
}
