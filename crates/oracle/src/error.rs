// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a saved model was refused.

/// A saved model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin like a model.
    #[error("this is not a model of ioracle; save one with 'ioracle model save'")]
    NotAModel,
    /// Written by a version with another format.
    #[error(
        "the model has format version {found}, this ioracle writes version {supported} and does not read that one; save it again"
    )]
    Version {
        /// The version in the header.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// Fewer bytes than a header has or promises, or more.
    #[error(
        "the model has {found} bytes where it should have {expected}: it was cut off or appended to; copy or save it again"
    )]
    Length {
        /// Bytes that are there.
        found: u64,
        /// Bytes that the header promises.
        expected: u64,
    },
    /// The checksum does not fit the bytes.
    #[error("the model is damaged: its checksum does not match; copy or save it again")]
    Checksum,
    /// The checksum fits but the content makes no sense.
    #[error("the model is damaged: {0}; copy or save it again")]
    Content(String),
}

impl Error {
    /// The bytes of the body stand for nothing.
    pub(crate) fn unreadable(error: postcard::Error) -> Error {
        Error::Content(format!("its content cannot be read ({error})"))
    }
}
