//! What the files that an image is built from promise: Dockerfile, requirements.txt, environment.yml, pyproject.toml.
