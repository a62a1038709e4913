// SPDX-License-Identifier: MIT OR Apache-2.0

//! `libioracle-capture.so`: what is preloaded into the application.
