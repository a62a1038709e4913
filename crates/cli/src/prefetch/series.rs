// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which files belong together: those of one kind that the command names, or that lie in
//! one directory.
//!
//! Files are grouped by their directory and their kind ([`file_kind`]). A few of a group
//! that the command names are enough to expect the others. For a whole directory it takes
//! more, and the performer looks what is in it, because a mount may not answer.

use std::collections::{HashMap, HashSet};

use ioracle_events::FastMap;
use ioracle_knowledge::{absolute_path, file_kind, is_system_path, natural_order};
use ioracle_prefetch::{FileKey, FileSeries, ObservedRead, SeriesOrigin, StorageKey};

/// Files of a group that were read before those that the command names are looked at, and
/// before all of the directory is.
const FEW_NAMED: usize = 2;
const FEW_SIBLINGS: usize = 16;
/// Groups of files, and lists of files that are followed.
const MAX_GROUPS: usize = 1024;
const MAX_SERIES: usize = 16;
/// Files of a list.
const MAX_FILES: usize = 1 << 15;

/// A directory, without a slash at its end, and a kind of files in it.
type GroupName = (Box<str>, Box<str>);

/// Finds lists of files that are read one after the other.
#[derive(Debug, Default)]
pub struct SeriesFinder {
    /// The words of the command, until they are sorted into groups.
    words: Vec<String>,
    directory: String,
    named: HashMap<GroupName, Vec<String>>,
    named_paths: HashSet<String>,
    /// The group of each file that was read, if it has one.
    group_of: FastMap<FileKey, Option<usize>>,
    numbers: HashMap<GroupName, usize>,
    groups: Vec<FileGroup>,
    series: Vec<FileSeries>,
    /// Groups whose directory is to be listed.
    to_list: Vec<usize>,
}

#[derive(Debug)]
struct FileGroup {
    name: GroupName,
    /// The first reads of its first files, until there is a list.
    first: Vec<ObservedRead>,
    series: Option<usize>,
    /// Names that have come.
    listed: Vec<String>,
}

impl SeriesFinder {
    /// For a command with these words, in this directory.
    pub fn name_files(&mut self, words: Vec<String>, directory: &str) {
        self.words = words;
        self.directory = directory.to_owned();
    }

    /// Whether the command names a file.
    pub fn is_named(&mut self, path: &str) -> bool {
        self.sort_words();
        self.named_paths.contains(path)
    }

    /// Lists of files that are read.
    pub fn series_mut(&mut self) -> &mut [FileSeries] {
        &mut self.series
    }

    /// Takes in a read of a file at a path; whether it was expected. `key_of` numbers
    /// the files of a new list.
    pub fn observe(
        &mut self,
        read: &ObservedRead,
        path: &str,
        key_of: impl FnMut(&str) -> Option<(FileKey, StorageKey)>,
    ) -> bool {
        let group = match self.group_of.get(&read.file) {
            Some(group) => *group,
            None => {
                let group = self.group_at(path);
                if self.group_of.len() < MAX_FILES {
                    self.group_of.insert(read.file, group);
                }
                group
            }
        };
        let Some(number) = group else { return false };
        let Some(place) = self.groups[number].series else {
            self.begin(number, read, key_of);
            return false;
        };
        let series = &mut self.series[place];
        let is_expected = series.expects(read);
        series.observe(read);
        is_expected
    }

    /// The next directory that is to be listed, with the kind of files that are wanted and
    /// the number that names that come are to be given with.
    pub fn take_directory(&mut self) -> Option<(u32, GroupName)> {
        let number = self.to_list.pop()?;
        Some((number as u32, self.groups[number].name.clone()))
    }

    /// Names of files in a directory; none when all of them have come.
    pub fn take_names(
        &mut self,
        number: u32,
        names: Option<Vec<String>>,
        key_of: impl FnMut(&str) -> Option<(FileKey, StorageKey)>,
    ) {
        let Some(group) = self.groups.get_mut(number as usize) else { return };
        if let Some(names) = names {
            let n_wanted = MAX_FILES - group.listed.len().min(MAX_FILES);
            return group.listed.extend(names.into_iter().take(n_wanted));
        }
        let mut names = std::mem::take(&mut group.listed);
        let directory = &group.name.0;
        names.iter_mut().for_each(|name| *name = format!("{directory}/{name}"));
        self.make(number as usize, SeriesOrigin::Siblings, names, key_of);
    }

    /// Another read of a group that has no list yet.
    fn begin(
        &mut self,
        number: usize,
        read: &ObservedRead,
        key_of: impl FnMut(&str) -> Option<(FileKey, StorageKey)>,
    ) {
        let group = &mut self.groups[number];
        let is_known = group.first.iter().any(|first| first.file == read.file);
        if group.first.len() >= FEW_SIBLINGS || is_known {
            return;
        }
        group.first.push(read.clone());
        let (n_read, name) = (group.first.len(), group.name.clone());
        if n_read == FEW_NAMED {
            self.sort_words();
            if let Some(named) = self.named.get(&name).filter(|named| named.len() > FEW_NAMED) {
                let named = named.clone();
                self.make(number, SeriesOrigin::Named, named, key_of);
            }
        } else if n_read == FEW_SIBLINGS {
            self.to_list.push(number);
        }
    }

    /// Makes a list of the files of a group, in the order that fits best what was read so
    /// far: that in which they are given, or that of their names.
    fn make(
        &mut self,
        number: usize,
        origin: SeriesOrigin,
        paths: Vec<String>,
        mut key_of: impl FnMut(&str) -> Option<(FileKey, StorageKey)>,
    ) {
        if self.series.len() >= MAX_SERIES {
            return;
        }
        let first = std::mem::take(&mut self.groups[number].first);
        let mut orders = vec![paths];
        if origin == SeriesOrigin::Siblings {
            let mut sorted = orders[0].clone();
            sorted.sort();
            let mut numbered = sorted.clone();
            numbered.sort_by(|a, b| natural_order(a, b));
            orders.extend([sorted, numbered]);
        }
        let keyed = orders.iter().map(|paths| {
            let files: Vec<_> = paths.iter().filter_map(|path| key_of(path)).collect();
            let places: FastMap<FileKey, usize> =
                files.iter().enumerate().map(|(place, (file, _))| (*file, place)).collect();
            let follows = |pair: &[ObservedRead]| {
                let place = |read: &ObservedRead| places.get(&read.file).copied();
                place(&pair[0]).is_some_and(|it| place(&pair[1]) == Some(it + 1))
            };
            (first.windows(2).filter(|pair| follows(pair)).count(), files)
        });
        let Some((_, files)) = keyed.max_by_key(|(n_in_order, _)| *n_in_order) else { return };
        let mut series = FileSeries::new(origin, files);
        first.iter().for_each(|read| series.observe(read));
        self.groups[number].series = Some(self.series.len());
        self.series.push(series);
    }

    fn group_at(&mut self, path: &str) -> Option<usize> {
        let name = group_name(path)?;
        if let Some(&number) = self.numbers.get(&name) {
            return Some(number);
        }
        if self.groups.len() >= MAX_GROUPS {
            return None;
        }
        let number = self.groups.len();
        self.numbers.insert(name.clone(), number);
        let group = FileGroup { name, first: Vec::new(), series: None, listed: Vec::new() };
        self.groups.push(group);
        Some(number)
    }

    fn sort_words(&mut self) {
        for word in std::mem::take(&mut self.words).into_iter().skip(1).take(MAX_FILES) {
            let path = absolute_path(&self.directory, &word);
            if !word.starts_with('-')
                && let Some(name) = group_name(&path)
            {
                self.named_paths.insert(path.clone());
                self.named.entry(name).or_default().push(path);
            }
        }
    }
}

/// The directory and the kind of a file; none if it is no data of the program.
fn group_name(path: &str) -> Option<GroupName> {
    let (directory, name) = path.rsplit_once('/')?;
    (!is_system_path(path)).then(|| (directory.into(), file_kind(name).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers files in the order in which they are asked for.
    #[derive(Default)]
    struct Keys(HashMap<String, u32>);

    impl Keys {
        fn key(&mut self, path: &str) -> Option<(FileKey, StorageKey)> {
            let next = self.0.len() as u32;
            let number = *self.0.entry(path.to_owned()).or_insert(next);
            Some((FileKey(number), StorageKey::default()))
        }
    }

    fn read(finder: &mut SeriesFinder, keys: &mut Keys, path: &str) -> bool {
        let read = ObservedRead {
            file: keys.key(path).unwrap().0,
            storage: StorageKey::default(),
            bytes: 0..4096,
            site: 1,
            start_ns: 0,
            end_ns: 10,
            expected: None,
        };
        finder.observe(&read, path, |path| keys.key(path))
    }

    fn ahead(finder: &mut SeriesFinder, keys: &Keys) -> Vec<String> {
        let files: Vec<FileKey> =
            finder.series_mut().iter().flat_map(|it| it.ahead(0)).map(|it| it.file).collect();
        let name = |key: &FileKey| keys.0.iter().find(|(_, number)| **number == key.0).unwrap().0;
        files.iter().map(|key| name(key).clone()).collect()
    }

    #[test]
    fn the_others_that_the_command_names_are_expected_and_its_output_is_not() {
        let (mut finder, mut keys) = (SeriesFinder::default(), Keys::default());
        let words = "ncra -y max in/a.nc ./in/b.nc in/c.nc in/d.nc in/notes.txt out.nc";
        finder.name_files(words.split(' ').map(str::to_owned).collect(), "/data");
        assert!(!read(&mut finder, &mut keys, "/data/in/a.nc"));
        assert!(!read(&mut finder, &mut keys, "/data/in/b.nc"));
        read(&mut finder, &mut keys, "/data/in/c.nc");
        assert_eq!(ahead(&mut finder, &keys), ["/data/in/d.nc"]);
        assert!(read(&mut finder, &mut keys, "/data/in/d.nc"));
        assert!(finder.take_directory().is_none());
    }

    #[test]
    fn a_directory_of_which_many_are_read_is_listed_and_followed_in_the_order_that_fits() {
        let (mut finder, mut keys) = (SeriesFinder::default(), Keys::default());
        for n in 0..FEW_SIBLINGS {
            assert!(finder.take_directory().is_none());
            read(&mut finder, &mut keys, &format!("/data/image-{n}.png"));
        }
        let (number, (directory, kind)) = finder.take_directory().unwrap();
        assert_eq!((&*directory, &*kind), ("/data", "png"));
        let names: Vec<String> = (0..30).rev().map(|n| format!("image-{n}.png")).collect();
        finder.take_names(number, Some(names), |path| keys.key(path));
        assert!(ahead(&mut finder, &keys).is_empty());
        finder.take_names(number, None, |path| keys.key(path));
        assert_eq!(ahead(&mut finder, &keys)[..2], ["/data/image-16.png", "/data/image-17.png"]);
        assert!(finder.take_directory().is_none());
    }

    #[test]
    fn files_of_the_system_are_no_series() {
        let (mut finder, mut keys) = (SeriesFinder::default(), Keys::default());
        for n in 0..40 {
            read(&mut finder, &mut keys, &format!("/usr/share/{n}.dat"));
        }
        assert!(finder.take_directory().is_none() && finder.groups.is_empty());
    }
}
