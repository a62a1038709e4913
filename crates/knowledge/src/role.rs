// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a file is to the program, and from that its path before it is opened.
//!
//! A role is a rule for finding files, and a file has a position in it: the third
//! input of the command, the fifth `.nc` file of a directory. So a run with other
//! inputs, or twice as many, has the same roles at other paths. Rules are tried in
//! the order of how much they explain: a word of the command, a name that another
//! file held, a file among its siblings, a path below the working directory, a
//! path. A path is only given for files that are there ([`FileSystem`]).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What can be asked about files. The crate itself never touches one.
pub trait FileSystem {
    /// Whether a regular file is there.
    fn is_file(&self, path: &str) -> bool;
    /// Whether a directory is there.
    fn is_directory(&self, path: &str) -> bool;
    /// Names of the files in a directory, in any order; empty if it cannot be read.
    fn names_in(&self, directory: &str) -> Vec<String>;
    /// The text of a short file; none if it is long or no text.
    fn short_text(&self, path: &str) -> Option<String>;
}

/// What a file is to a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileRole {
    /// A file that the command names; its position counts those that are there.
    Input,
    /// A file that the command names and the program writes: by the option before
    /// it, or by how many words from the end it is. What the program adds to the
    /// name is part of it, digits as `#`.
    Output {
        /// The option before the word.
        option: Box<str>,
        /// Words behind it, where there is no option.
        from_end: u32,
        /// What the program adds to the name.
        suffix: Box<str>,
    },
    /// A file whose name another file holds; its position is that of the name.
    Listed {
        /// The file that holds the names.
        by: Box<FileRole>,
    },
    /// A file among others of its kind in a directory; its position is that among
    /// their sorted names.
    Sibling {
        /// Which directory.
        directory: DirectoryRole,
        /// The extension of its name, or the name with `#` for numbers.
        kind: Box<str>,
    },
    /// A path below the working directory, numbers as `#` where they change.
    Local(Box<str>),
    /// A path.
    Fixed(Box<str>),
}

/// Which directory files lie in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DirectoryRole {
    /// The directory that the command names, counted among its directories.
    Named(u32),
    /// The directory of the first input.
    OfInput,
    /// Below the working directory.
    Local(Box<str>),
    /// A path.
    Fixed(Box<str>),
}

/// A file in its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleFile {
    /// The role.
    pub role: FileRole,
    /// Its position in the role.
    pub index: u32,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// Files of a list that are looked at, and names in a directory.
const MAX_NAMES: usize = 1 << 16;
/// Files that are asked for the names they hold.
const MAX_LISTS: usize = 8;
/// Where systems keep what is no data of a program.
const SYSTEM: [&str; 8] = ["/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/run/", "/opt/"];

/// The files of one run: its command, and roles in both directions.
#[derive(Clone)]
pub struct RunFiles {
    system: Arc<dyn FileSystem + Send + Sync>,
    /// The working directory, without a slash at its end.
    directory: String,
    words: Vec<String>,
    inputs: NameList,
    /// Directories that the command names.
    directories: Vec<String>,
    listings: HashMap<(String, Box<str>), NameList>,
    /// Lists of names that files of the run hold.
    lists: Vec<(FileRole, NameList)>,
    /// Files read so far that may hold names.
    read: Vec<(FileRole, String)>,
    known: HashMap<Box<str>, RoleFile>,
}

/// Paths in order, and where each stands.
#[derive(Clone, Debug, Default)]
struct NameList {
    paths: Vec<String>,
    places: HashMap<String, u32>,
}

impl NameList {
    fn new(paths: Vec<String>) -> NameList {
        let mut list = NameList::default();
        for path in paths.into_iter().take(MAX_NAMES) {
            if !list.places.contains_key(&path) {
                list.places.insert(path.clone(), list.paths.len() as u32);
                list.paths.push(path);
            }
        }
        list
    }

    fn find(&self, path: &str) -> Option<(u32, bool)> {
        let place = *self.places.get(path)?;
        Some((place, place as usize + 1 == self.paths.len()))
    }
}

impl RunFiles {
    /// The files of a run that was started with these words in this directory.
    /// `outputs` are roles of files that earlier runs wrote: their words name no
    /// inputs even if such files are left from before.
    pub fn new<'a>(
        command: &[String],
        directory: &str,
        outputs: impl IntoIterator<Item = &'a FileRole>,
        system: Arc<dyn FileSystem + Send + Sync>,
    ) -> RunFiles {
        let directory = directory.trim_end_matches('/').to_owned();
        let mut files = RunFiles {
            system,
            directory,
            words: command.to_vec(),
            inputs: NameList::default(),
            directories: Vec::new(),
            listings: HashMap::new(),
            lists: Vec::new(),
            read: Vec::new(),
            known: HashMap::new(),
        };
        let written: Vec<String> =
            outputs.into_iter().filter_map(|role| files.output_word(role)).collect();
        let mut inputs = Vec::new();
        for word in files.words.iter().skip(1).take(MAX_NAMES) {
            let Some(path) = files.word_path(word) else { continue };
            if files.system.is_directory(&path) {
                files.directories.push(path);
            } else if !written.contains(&path) && !is_system_path(&path) {
                inputs.push(path);
            }
        }
        files.inputs = NameList::new(inputs);
        files
    }

    /// Paths that the command names as inputs.
    pub fn n_inputs(&self) -> usize {
        self.inputs.paths.len()
    }

    /// The whole path of a file, which may be given relative to the working
    /// directory.
    pub fn absolute(&self, path: &str) -> String {
        absolute_path(&self.directory, path)
    }

    /// Whether a file belongs to the system and is no data of the program.
    pub fn is_system(&self, path: &str) -> bool {
        is_system_path(&self.absolute(path))
    }

    /// The role of a file that is used for the first time in this run. A file that
    /// is `written` is no input.
    pub fn role_of(&mut self, path: &str, written: bool) -> RoleFile {
        let path = self.absolute(path);
        if let Some(known) = self.known.get(path.as_str()) {
            return known.clone();
        }
        let found = match written {
            true => self.written_role(&path),
            false => self.read_role(&path),
        };
        if !written && self.read.len() < MAX_LISTS {
            self.read.push((found.role.clone(), path.clone()));
        }
        if self.known.len() < MAX_NAMES {
            self.known.insert(path.into(), found.clone());
        }
        found
    }

    /// The path of the file at a position of a role, if there is one in this run.
    pub fn path_of(&mut self, role: &FileRole, index: u32) -> Option<String> {
        let path = match role {
            FileRole::Input => self.inputs.paths.get(index as usize)?.clone(),
            FileRole::Output { .. } => return None,
            FileRole::Listed { by } => {
                let list = self.list_by(by)?;
                list.paths.get(index as usize)?.clone()
            }
            FileRole::Sibling { directory, kind } => {
                let directory = self.directory_of(directory)?;
                self.listing(&directory, kind).paths.get(index as usize)?.clone()
            }
            FileRole::Local(path) | FileRole::Fixed(path) if path.contains('#') => return None,
            FileRole::Local(path) | FileRole::Fixed(path) => self.absolute(path),
        };
        self.system.is_file(&path).then_some(path)
    }

    /// How many files a role has in this run, where that is known.
    pub fn count(&mut self, role: &FileRole) -> Option<u32> {
        let list = match role {
            FileRole::Input => &self.inputs,
            FileRole::Listed { by } => self.list_by(by)?,
            FileRole::Sibling { directory, kind } => {
                let directory = self.directory_of(directory)?;
                self.listing(&directory, kind)
            }
            FileRole::Output { .. } | FileRole::Local(_) | FileRole::Fixed(_) => return Some(1),
        };
        Some(list.paths.len() as u32)
    }

    fn written_role(&mut self, path: &str) -> RoleFile {
        let named = (1..self.words.len()).rev().find_map(|n| {
            let word = value_of(&self.words[n]);
            let suffix = path.strip_prefix(&absolute_path(&self.directory, word))?;
            let is_added = suffix.is_empty() || !suffix.starts_with(char::is_alphanumeric);
            (!word.is_empty() && is_added && !suffix.contains('/')).then_some((n, suffix))
        });
        let role = match named {
            Some((n, suffix)) => {
                let before = self.words[n - 1].as_str();
                let option = match self.words[n].split_once('=') {
                    Some((option, _)) => option,
                    None if n > 1 && before.starts_with('-') => before,
                    None => "",
                };
                // Switches come before the first input; only the last word is sure to
                // be no value of one.
                let from_end = (self.words.len() - 1 - n) as u32;
                let option = if from_end == 0 { "" } else { option };
                FileRole::Output {
                    option: option.into(),
                    from_end: if option.is_empty() { from_end } else { 0 },
                    suffix: without_numbers(suffix).into(),
                }
            }
            None => self.plain_role(&without_numbers(path)),
        };
        RoleFile { role, index: 0, is_last: true }
    }

    fn read_role(&mut self, path: &str) -> RoleFile {
        let at = |role, (index, is_last)| RoleFile { role, index, is_last };
        if let Some(found) = self.inputs.find(path) {
            return at(FileRole::Input, found);
        }
        if is_system_path(path) {
            return at(FileRole::Fixed(path.into()), (0, true));
        }
        if let Some((by, found)) = self.find_listed(path) {
            return at(FileRole::Listed { by: Box::new(by) }, found);
        }
        if let Some((role, found)) = self.find_sibling(path) {
            return at(role, found);
        }
        at(self.plain_role(path), (0, true))
    }

    fn plain_role(&self, path: &str) -> FileRole {
        match path.strip_prefix(&format!("{}/", self.directory)) {
            Some(local) => FileRole::Local(local.into()),
            None => FileRole::Fixed(path.into()),
        }
    }

    fn find_listed(&mut self, path: &str) -> Option<(FileRole, (u32, bool))> {
        let known = |lists: &[(FileRole, NameList)]| {
            lists.iter().find_map(|(by, list)| Some((by.clone(), list.find(path)?)))
        };
        if let Some(found) = known(&self.lists) {
            return Some(found);
        }
        for (by, file) in std::mem::take(&mut self.read) {
            self.add_list(by, &file);
        }
        known(&self.lists)
    }

    fn list_by(&mut self, by: &FileRole) -> Option<&NameList> {
        if !self.lists.iter().any(|(known, _)| known == by) {
            let path = self.path_of(by, 0)?;
            self.add_list(by.clone(), &path);
        }
        self.lists.iter().find(|(known, _)| known == by).map(|(_, list)| list)
    }

    fn add_list(&mut self, by: FileRole, file: &str) {
        if self.lists.len() >= MAX_LISTS || self.lists.iter().any(|(known, _)| *known == by) {
            return;
        }
        let text = self.system.short_text(file).unwrap_or_default();
        let beside = file.rsplit_once('/').map_or("", |(directory, _)| directory);
        let separators = |c: char| c.is_whitespace() || "\"',;=()[]<>".contains(c);
        let words =
            text.split(separators).filter(|word| word.len() > 1 && word.contains(['.', '/']));
        let paths = words.take(MAX_NAMES).filter_map(|word| {
            let mut places = [self.directory.as_str(), beside].into_iter();
            places.find_map(|place| {
                let path = absolute_path(place, word);
                self.system.is_file(&path).then_some(path)
            })
        });
        let list = NameList::new(paths.collect());
        self.lists.push((by, list));
    }

    fn find_sibling(&mut self, path: &str) -> Option<(FileRole, (u32, bool))> {
        let (directory, name) = path.rsplit_once('/')?;
        let is_named = self.directories.iter().position(|named| named == directory);
        let of_input = self.inputs.paths.first().and_then(|first| first.rsplit_once('/'));
        let role = match (is_named, of_input) {
            (Some(n), _) => DirectoryRole::Named(n as u32),
            (None, Some((input, _))) if input == directory => DirectoryRole::OfInput,
            _ => match self.plain_role(&format!("{directory}/")) {
                FileRole::Local(local) => DirectoryRole::Local(local),
                _ => DirectoryRole::Fixed(directory.into()),
            },
        };
        let kind: Box<str> = file_kind(name).into();
        let list = self.listing(directory, &kind);
        let found = list.find(path)?;
        // Alone of its kind it is a file of its own, unless its directory was named.
        (list.paths.len() > 1 || is_named.is_some())
            .then_some((FileRole::Sibling { directory: role, kind }, found))
    }

    fn directory_of(&self, role: &DirectoryRole) -> Option<String> {
        match role {
            DirectoryRole::Named(n) => self.directories.get(*n as usize).cloned(),
            DirectoryRole::OfInput => {
                Some(self.inputs.paths.first()?.rsplit_once('/')?.0.to_owned())
            }
            DirectoryRole::Local(path) | DirectoryRole::Fixed(path) => Some(self.absolute(path)),
        }
    }

    fn listing(&mut self, directory: &str, kind_wanted: &str) -> &NameList {
        let key = (directory.to_owned(), kind_wanted.into());
        self.listings.entry(key).or_insert_with(|| {
            let mut names = self.system.names_in(directory);
            names.retain(|name| file_kind(name) == kind_wanted);
            names.sort_by(|a, b| natural_order(a, b));
            NameList::new(names.iter().map(|name| format!("{directory}/{name}")).collect())
        })
    }

    /// The path that a word of the command names, or the part of it behind `=`; also
    /// where another word is its directory.
    fn word_path(&self, word: &str) -> Option<String> {
        let is_there = |path: &String| self.system.is_file(path) || self.system.is_directory(path);
        if word.is_empty() {
            return None;
        }
        let mut ways = [word, value_of(word)].into_iter();
        if let Some(path) =
            ways.find_map(|it| Some(absolute_path(&self.directory, it)).filter(is_there))
        {
            return Some(path);
        }
        let mut others = self.words.iter().skip(1).filter(|other| !other.starts_with('-'));
        others.find_map(|other| {
            let place = absolute_path(&self.directory, other);
            let path = absolute_path(&place, word);
            let fits = !word.starts_with(['-', '/']) && self.system.is_directory(&place);
            (fits && self.system.is_file(&path)).then_some(path)
        })
    }

    fn output_word(&self, role: &FileRole) -> Option<String> {
        let FileRole::Output { option, from_end, .. } = role else { return None };
        let place = match &**option {
            "" => self.words.len().checked_sub(1 + *from_end as usize),
            option => {
                let joined = self
                    .words
                    .iter()
                    .position(|it| it.split_once('=').is_some_and(|(o, _)| o == option));
                joined.or_else(|| Some(self.words.iter().position(|word| word == option)? + 1))
            }
        };
        let word = value_of(self.words.get(place.filter(|place| *place > 0)?)?);
        Some(absolute_path(&self.directory, word))
    }
}

impl fmt::Debug for RunFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunFiles").field("words", &self.words).finish_non_exhaustive()
    }
}

impl FileRole {
    /// In words, with the name that files of the role have in a run.
    pub fn in_words(&self) -> String {
        match self {
            FileRole::Input => "input".to_owned(),
            FileRole::Output { option, from_end, suffix } => {
                let which = match (&**option, from_end) {
                    ("", 0) => "output".to_owned(),
                    ("", n) => format!("output ({n} words from the end)"),
                    (option, _) => format!("output ({option})"),
                };
                if suffix.is_empty() { which } else { format!("{which}{}", starred(suffix)) }
            }
            FileRole::Listed { by } => format!("files listed in {}", by.in_words()),
            FileRole::Sibling { directory, kind } => {
                let kind = if kind.contains('#') { starred(kind) } else { format!("*.{kind}") };
                match directory {
                    DirectoryRole::OfInput => format!("{kind} beside the input"),
                    directory => format!("{}{kind}", directory.in_words()),
                }
            }
            FileRole::Local(path) | FileRole::Fixed(path) => starred(path),
        }
    }

    /// Whether it holds several files, one after the other.
    pub fn is_series(&self) -> bool {
        matches!(self, FileRole::Input | FileRole::Listed { .. } | FileRole::Sibling { .. })
    }

    /// The texts in it that tell names.
    pub(crate) fn map_names(&self, change: &dyn Fn(&str) -> Box<str>) -> FileRole {
        match self {
            FileRole::Input => FileRole::Input,
            FileRole::Output { option, from_end, suffix } => FileRole::Output {
                option: option.clone(),
                from_end: *from_end,
                suffix: if suffix.is_empty() { suffix.clone() } else { change(suffix) },
            },
            FileRole::Listed { by } => FileRole::Listed { by: Box::new(by.map_names(change)) },
            FileRole::Sibling { directory, kind } => {
                let directory = match directory {
                    DirectoryRole::Local(path) => DirectoryRole::Local(change(path)),
                    DirectoryRole::Fixed(path) => DirectoryRole::Fixed(change(path)),
                    counted => counted.clone(),
                };
                FileRole::Sibling { directory, kind: change(kind) }
            }
            FileRole::Local(path) => FileRole::Local(change(path)),
            FileRole::Fixed(path) => FileRole::Fixed(change(path)),
        }
    }
}

impl DirectoryRole {
    fn in_words(&self) -> String {
        match self {
            DirectoryRole::Named(0) => "DIR/".to_owned(),
            DirectoryRole::Named(n) => format!("DIR{}/", n + 1),
            DirectoryRole::OfInput => String::new(),
            DirectoryRole::Local(path) if path.is_empty() => String::new(),
            DirectoryRole::Local(path) | DirectoryRole::Fixed(path) => {
                format!("{}/", path.trim_end_matches('/'))
            }
        }
    }
}

/// A word, or what stands behind `=` in it.
fn value_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(_, value)| value)
}

/// Whether a file belongs to the system or to a program, and is no data.
pub fn is_system_path(path: &str) -> bool {
    SYSTEM.iter().any(|place| path.starts_with(place))
        || path.ends_with(".pyc")
        || path.contains("/site-packages/")
        || path.contains("/dist-packages/")
}

/// The kind of a file by its name: the extension, or the name without its numbers.
pub fn file_kind(name: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if !stem.is_empty()
                && (1..=8).contains(&extension.len())
                && !extension.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            extension.to_owned()
        }
        _ => without_numbers(name),
    }
}

/// A text with `#` for every number in it.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii_digit() {
            true if result.ends_with('#') => {}
            true => result.push('#'),
            false => result.push(c),
        }
    }
    result
}

/// The same for people, to whom `*` stands for numbers.
pub(crate) fn starred(text: &str) -> String {
    text.replace('#', "*")
}

/// Joins a path to a directory and takes `.` and `..` out of it.
pub fn absolute_path(directory: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Numbers in names compare as numbers: `step_9` comes before `step_10`.
pub fn natural_order(a: &str, b: &str) -> std::cmp::Ordering {
    use std::cmp::Ordering;
    let (mut a_rest, mut b_rest) = (a.as_bytes(), b.as_bytes());
    loop {
        match (a_rest, b_rest) {
            ([x, ..], [y, ..]) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let digits = |text: &[u8]| text.iter().take_while(|it| it.is_ascii_digit()).count();
                let (n, m) = (digits(a_rest), digits(b_rest));
                let number = |text: &[u8]| -> Vec<u8> {
                    text.iter().copied().skip_while(|digit| *digit == b'0').collect()
                };
                let (x, y) = (number(&a_rest[..n]), number(&b_rest[..m]));
                match x.len().cmp(&y.len()).then_with(|| x.cmp(&y)) {
                    Ordering::Equal => (a_rest, b_rest) = (&a_rest[n..], &b_rest[m..]),
                    unequal => return unequal,
                }
            }
            ([x, a_tail @ ..], [y, b_tail @ ..]) => match x.cmp(y) {
                Ordering::Equal => (a_rest, b_rest) = (a_tail, b_tail),
                unequal => return unequal,
            },
            _ => return a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Files that are there, by path, with the text of some.
    #[derive(Clone, Default)]
    pub(crate) struct FakeFiles(pub(crate) Vec<(String, String)>);

    impl FakeFiles {
        pub(crate) fn new(paths: &[&str]) -> FakeFiles {
            FakeFiles(paths.iter().map(|path| ((*path).to_owned(), String::new())).collect())
        }
    }

    impl FileSystem for FakeFiles {
        fn is_file(&self, path: &str) -> bool {
            self.0.iter().any(|(known, _)| known == path)
        }

        fn is_directory(&self, path: &str) -> bool {
            self.0.iter().any(|(known, _)| known.starts_with(&format!("{path}/")))
        }

        fn names_in(&self, directory: &str) -> Vec<String> {
            let inside = self.0.iter().filter_map(|(path, _)| {
                path.strip_prefix(directory)?.strip_prefix('/').filter(|name| !name.contains('/'))
            });
            inside.map(str::to_owned).collect()
        }

        fn short_text(&self, path: &str) -> Option<String> {
            self.0.iter().find(|(known, _)| known == path).map(|(_, text)| text.clone())
        }
    }

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    fn run(command: &str, files: &FakeFiles, outputs: &[FileRole]) -> RunFiles {
        RunFiles::new(&words(command), "/data", outputs, Arc::new(files.clone()))
    }

    #[test]
    fn inputs_are_counted_whatever_the_options() {
        let files = FakeFiles::new(&["/data/in/a.nc", "/data/in/b.nc", "/data/in/c.nc"]);
        for command in [
            "ncra -O in/a.nc in/b.nc in/c.nc out.nc",
            "ncra -y max ./in/a.nc /data/in/b.nc in/../in/c.nc out.nc",
            "ncra -p in a.nc b.nc c.nc out.nc",
        ] {
            let mut run = run(command, &files, &[]);
            let found = run.role_of("in/b.nc", false);
            assert_eq!(
                (found.role, found.index, found.is_last),
                (FileRole::Input, 1, false),
                "{command}"
            );
            assert!(run.role_of("in/c.nc", false).is_last);
            assert_eq!(run.path_of(&FileRole::Input, 2).as_deref(), Some("/data/in/c.nc"));
            assert_eq!(run.path_of(&FileRole::Input, 3), None);
        }
    }

    #[test]
    fn an_output_that_is_left_from_before_is_no_input() {
        let files = FakeFiles::new(&["/data/a.nc", "/data/out.nc"]);
        let mut first = run("ncra -O a.nc out.nc", &files, &[]);
        let output = first.role_of("out.nc.pid123.ncra.tmp", true).role;
        assert_eq!(output.in_words(), "output.pid*.ncra.tmp");
        assert_eq!(first.n_inputs(), 2);
        let mut second = run("ncra -O a.nc out.nc", &files, &[output]);
        assert_eq!(second.n_inputs(), 1);
        assert!(second.role_of("a.nc", false).is_last);
        let by_option = run("sum -o out.nc a.nc", &files, &[]).role_of("out.nc", true).role;
        assert_eq!(by_option.in_words(), "output (-o)");
        assert_eq!(run("sum -o out.nc a.nc", &files, &[by_option]).n_inputs(), 1);
    }

    #[test]
    fn siblings_are_in_the_order_of_their_numbers() {
        let files = FakeFiles::new(&["/in/t_9.nc", "/in/t_10.nc", "/in/t_2.nc", "/in/readme.txt"]);
        let mut first = run("python3 all.py /in", &files, &[]);
        let found = first.role_of("/in/t_9.nc", false);
        assert_eq!((found.index, found.is_last), (1, false));
        assert_eq!(found.role.in_words(), "DIR/*.nc");
        let others = FakeFiles::new(&["/new/x1.nc", "/new/x2.nc"]);
        let mut second = run("python3 all.py /new", &others, &[]);
        assert_eq!(second.path_of(&found.role, 1).as_deref(), Some("/new/x2.nc"));
        assert_eq!(second.path_of(&found.role, 2), None);
        assert_eq!(second.count(&found.role), Some(2));
    }

    #[test]
    fn names_that_another_file_holds_are_followed() {
        let mut files = FakeFiles::new(&["/data/a.nc", "/data/b.nc", "/data/unlisted.bin"]);
        files.0.push(("/data/case.txt".to_owned(), "inputs = 'b.nc', 'a.nc'\n".to_owned()));
        let mut first = run("sim case.txt", &files, &[]);
        assert_eq!(first.role_of("case.txt", false).role, FileRole::Input);
        let found = first.role_of("a.nc", false);
        assert_eq!((found.role.in_words().as_str(), found.index), ("files listed in input", 1));
        let mut others = FakeFiles::new(&["/data/x.nc"]);
        others.0.push(("/data/other.txt".to_owned(), "x.nc".to_owned()));
        let mut second = run("sim other.txt", &others, &[]);
        assert_eq!(second.path_of(&found.role, 0).as_deref(), Some("/data/x.nc"));
        assert_eq!(
            first.role_of("unlisted.bin", false).role,
            FileRole::Local("unlisted.bin".into())
        );
    }

    #[test]
    fn any_name_has_a_role() {
        let files = FakeFiles::default();
        let long = "x".repeat(4000);
        for name in ["", "/", "..", "a\nb", "'\"; DROP TABLE", "\u{fffd}", long.as_str(), "=", "#"]
        {
            let mut run = run(&format!("sim {name}"), &files, &[]);
            run.role_of(name, false);
            run.role_of(name, true);
            assert_eq!(run.path_of(&FileRole::Local(name.into()), 0), None);
        }
    }
}
