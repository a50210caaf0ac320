//! The tables of entries: which masks there are, and how many a packet is looked up in.

use std::collections::BTreeSet;

use crate::profile::{Chain, Eswitch};

/// The two directions of a table: packets that leave, and that arrive.
pub(super) const EGRESS: usize = 0;
/// Packets that arrive.
pub(super) const INGRESS: usize = 1;

/// Place of an entry: its table, and its mask in each direction, from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    table: u32,
    masks: [u32; 2],
}

impl Entry {
    pub(super) const fn masks(self) -> [u32; 2] {
        self.masks
    }
}

/// A table.
#[derive(Debug, Default)]
struct Table {
    entries: u32,
    /// Masks of each direction that some entry of the table has or had, in the order in which they are looked through.
    masks: [Vec<u32>; 2],
    /// Masks of each direction in the tables before it.
    before: [u32; 2],
}

/// Tables that packets go through one after another.
#[derive(Debug)]
pub(super) struct Tables {
    /// Entries of a table at the most.
    capacity: u32,
    chain: Chain,
    /// Masks of a direction at the most.
    limit: u32,
    /// In the order in which they were opened.
    tables: Vec<Table>,
    /// Those of them that have room.
    with_room: BTreeSet<u32>,
    /// Masks of each direction.
    masks: [u32; 2],
    entries: u32,
}

impl Tables {
    /// One empty table.
    pub(super) fn new(eswitch: &Eswitch) -> Self {
        let any = |limit| if limit == 0 { u32::MAX } else { limit };
        let mut tables = Self {
            capacity: any(eswitch.table_entries),
            chain: eswitch.chain,
            limit: any(eswitch.masks),
            tables: Vec::new(),
            with_room: BTreeSet::new(),
            masks: [0; 2],
            entries: 0,
        };
        tables.open();
        tables
    }

    fn open(&mut self) {
        self.with_room.insert(self.tables.len() as u32);
        self.tables.push(Table::default());
    }

    /// Entries of all tables.
    pub(super) const fn entries(&self) -> u32 {
        self.entries
    }

    /// Masks of a direction in all tables.
    pub(super) const fn masks(&self, direction: usize) -> u32 {
        self.masks[direction]
    }

    /// Creates an entry in the oldest table that has room; nothing if there would be too many masks. [`Tables::settle`] is due then.
    pub(super) fn insert(&mut self, masks: [u32; 2]) -> Option<Entry> {
        if self.with_room.is_empty() {
            self.open();
        }
        let number = *self.with_room.first()?;
        let table = self.tables.get_mut(number as usize)?;
        let places =
            [EGRESS, INGRESS].map(|direction| table.masks[direction].binary_search(&masks[direction]));
        let more = places.map(|place| u32::from(place.is_err()));
        if [EGRESS, INGRESS].into_iter().any(|direction| self.masks[direction] + more[direction] > self.limit)
        {
            return None;
        }
        for direction in [EGRESS, INGRESS] {
            if let Err(place) = places[direction] {
                table.masks[direction].insert(place, masks[direction]);
                self.masks[direction] += 1;
            }
        }
        table.entries += 1;
        if table.entries >= self.capacity {
            self.with_room.remove(&number);
        }
        self.entries += 1;
        Some(Entry { table: number, masks })
    }

    /// Deletes an entry. Its mask stays, and its table.
    pub(super) fn delete(&mut self, entry: Entry) {
        if let Some(table) = self.tables.get_mut(entry.table as usize) {
            table.entries -= 1;
            self.entries -= 1;
            self.with_room.insert(entry.table);
        }
    }

    /// Counts the masks before each table.
    pub(super) fn settle(&mut self) {
        let mut before = [0; 2];
        let mut next = |table: &mut Table| {
            table.before = before;
            for direction in [EGRESS, INGRESS] {
                before[direction] += table.masks[direction].len() as u32;
            }
        };
        match self.chain {
            Chain::Front => self.tables.iter_mut().rev().for_each(&mut next),
            Chain::Back => self.tables.iter_mut().for_each(&mut next),
        }
    }

    /// Masks that a packet with an entry is looked up in, since the last [`Tables::settle`].
    pub(super) fn searched(&self, entry: Entry, direction: usize) -> u32 {
        let Some(table) = self.tables.get(entry.table as usize) else { return 0 };
        let own = table.masks[direction].partition_point(|mask| *mask <= entry.masks[direction]);
        table.before[direction] + own as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Masks that the packets of the entries of these masks are looked up in.
    fn searched(tables: &mut Tables, entries: &[Entry]) -> Vec<u32> {
        tables.settle();
        entries.iter().map(|entry| tables.searched(*entry, EGRESS)).collect()
    }

    fn filled(eswitch: Eswitch, masks: &[u32]) -> (Tables, Vec<Entry>) {
        let mut tables = Tables::new(&eswitch);
        let entries = masks.iter().map_while(|mask| tables.insert([*mask, 1])).collect();
        (tables, entries)
    }

    #[test]
    fn an_entry_is_found_at_its_mask_however_many_share_it() {
        let (mut tables, entries) = filled(Eswitch::default(), &[2, 1, 3, 3, 3, 2]);
        assert_eq!(searched(&mut tables, &entries), [2, 1, 3, 3, 3, 2]);
        assert_eq!((tables.entries(), tables.masks(EGRESS), tables.masks(INGRESS)), (6, 3, 1));
    }

    /// ScalaCN, figure 6: beyond the entries of a table, all older flows become slower at once.
    #[test]
    fn a_further_table_is_looked_up_first_or_last() {
        let masks = [1, 2, 3, 1, 2, 3, 1];
        let with = |chain| filled(Eswitch { table_entries: 3, chain, ..Eswitch::default() }, &masks);
        let (mut front, entries) = with(Chain::Front);
        assert_eq!(searched(&mut front, &entries), [5, 6, 7, 2, 3, 4, 1]);
        let (mut back, entries) = with(Chain::Back);
        assert_eq!(searched(&mut back, &entries), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn tables_and_masks_stay_when_their_entries_go() {
        let (mut tables, mut entries) =
            filled(Eswitch { table_entries: 2, ..Eswitch::default() }, &[1, 2, 1, 2]);
        assert_eq!(searched(&mut tables, &entries), [3, 4, 1, 2]);
        tables.delete(entries.pop().unwrap());
        tables.delete(entries.pop().unwrap());
        assert_eq!(searched(&mut tables, &entries), [3, 4]);
        entries.push(tables.insert([1, 1]).unwrap());
        assert_eq!((searched(&mut tables, &entries), tables.entries()), (vec![3, 4, 1], 3));
    }

    #[test]
    fn an_entry_with_one_mask_too_many_is_refused() {
        let (mut tables, entries) = filled(Eswitch { masks: 2, ..Eswitch::default() }, &[1, 2, 3]);
        assert_eq!(entries.len(), 2);
        assert!(tables.insert([1, 2]).is_some());
        assert!(tables.insert([1, 3]).is_none());
    }
}
