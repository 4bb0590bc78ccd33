#!/bin/bash
set -e
if ! command -v git; then apt-get install -y git; fi
pip3 install torch==2.3.1 torchvision==0.17.2
