// SPDX-License-Identifier: MIT OR Apache-2.0

//! SVG pictures as PNG, for slides and viewers that do not read SVG.
//!
//! Text needs a font of the machine. Compute nodes often have none; then the
//! picture has no text, and a message says so.

use std::sync::Arc;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::output;

/// Pixels per unit of the SVG: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// The fonts that text is drawn with.
pub struct Fonts(Arc<fontdb::Database>);

impl Fonts {
    /// Those that are installed.
    pub fn of_this_machine() -> Fonts {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        let any = fonts.faces().find_map(|face| Some(face.families.first()?.0.clone()));
        match any {
            Some(any) => {
                let named = fontdb::Family::Name("DejaVu Sans");
                let query = fontdb::Query { families: &[named], ..fontdb::Query::default() };
                let sans =
                    if fonts.query(&query).is_some() { "DejaVu Sans".to_owned() } else { any };
                fonts.set_sans_serif_family(sans);
            }
            None => output::say(
                "no fonts are installed on this machine, so PNG pictures have no text; use the SVG files",
            ),
        }
        Fonts(Arc::new(fonts))
    }

    /// A picture as the bytes of a PNG file.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>> {
        let options = Options {
            fontdb: Arc::clone(&self.0),
            font_family: "sans-serif".to_owned(),
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options).context("could not read a picture of our own")?;
        let size = tree.size().to_int_size().scale_by(SCALE).context("a picture has no size")?;
        let mut pixels =
            Pixmap::new(size.width(), size.height()).context("a picture has no size")?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().context("could not write a picture as PNG")
    }
}
