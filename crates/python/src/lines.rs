//! Line numbers of offsets.

/// Counts lines. Offsets are best asked for in ascending order.
pub(crate) struct Lines<'t> {
    text: &'t [u8],
    offset: usize,
    line: u32,
}

impl<'t> Lines<'t> {
    pub fn of(text: &'t str) -> Self {
        Lines {
            text: text.as_bytes(),
            offset: 0,
            line: 1,
        }
    }

    /// The line of an offset, counted from 1.
    pub fn at(&mut self, offset: usize) -> u32 {
        let offset = offset.min(self.text.len());
        if offset < self.offset {
            (self.offset, self.line) = (0, 1);
        }
        let between = &self.text[self.offset..offset];
        let ends = between.iter().filter(|byte| **byte == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.offset = offset;
        self.line
    }
}
