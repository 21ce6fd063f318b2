//! Ways to cut a byte string into chunks.

/// Cuts into chunks of these sizes, over and over; a size of 0 counts as 1. Without sizes, one chunk.
pub fn cut<'a>(bytes: &'a [u8], sizes: &'a [usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = bytes;
    let mut sizes = sizes.iter().copied().cycle();
    core::iter::from_fn(move || {
        let size = sizes.next().unwrap_or(usize::MAX).max(1).min(rest.len());
        let (chunk, tail) = rest.split_at(size);
        rest = tail;
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// The sizes that the driver's readers meet: one byte, eight (kernels before 5.18), the usual buffers, all.
pub const USUAL: [&[usize]; 7] = [&[1], &[8], &[7, 1, 13], &[96], &[1024], &[8192], &[]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_the_bytes() {
        let bytes: Vec<u8> = (0..100).collect();
        for sizes in USUAL {
            assert_eq!(cut(&bytes, sizes).collect::<Vec<_>>().concat(), bytes);
        }
        assert_eq!(cut(&bytes, &[0]).count(), 100);
        assert_eq!(cut(&bytes, &[60, 1]).map(<[u8]>::len).collect::<Vec<_>>(), [60, 1, 39]);
        assert_eq!(cut(b"", &[1]).count(), 0);
    }
}
