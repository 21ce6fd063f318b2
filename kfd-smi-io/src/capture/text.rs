//! Free bytes in the `#` lines: [`Text`].

use std::fmt;

use kfd_smi_proto::Escaped;

/// Bytes that a machine or a process chose, such as a host name: any byte can be among them.
///
/// ```
/// use kfd_smi_io::capture::Text;
///
/// let text = Text::from("gpu node\x1b[2J");
/// assert_eq!(text.as_bytes(), b"gpu node\x1b[2J");
/// assert_eq!(text.to_string(), r"gpu node\x1b[2J");
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes as they are.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

/// Printable ASCII: see [`Escaped`].
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(&self.0).fmt(f)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text(\"{}\")", Escaped(&self.0))
    }
}
