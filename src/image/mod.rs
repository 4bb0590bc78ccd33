//! The root filesystem of an image: its layers merged, each path with the layer that put it there.
