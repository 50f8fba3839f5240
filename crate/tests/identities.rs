//! Whether a file is the parent that its child records, in every format that records one.

use crate::common::vdi::{self, Vdi};
use crate::common::vhd::{self, Vhd};
use crate::common::vhdx::{self, Vhdx};
use crate::common::vmdk::{Grain, Kdmv, SECTOR, descriptor, pattern};
use crate::common::*;
use decant::ErrorKind::*;
use decant::disk::info::Notice;
use decant::error::fields::Field;

/// A child with nothing allocated, in which everything is read from `parent`.
struct Row<'a> {
    what: &'a str,
    child: Vec<u8>,
    /// The name and the bytes of the file that is passed.
    parent: (&'a str, Vec<u8>),
    disk: Vec<u8>,
    checked: Checked<'a>,
}

enum Checked<'a> {
    Right,
    /// It is refused with this code; the fields `wanted` and `found`, if there are any.
    Wrong(&'a str, Option<(&'a str, &'a str)>),
    /// It is read, with the notice `parent-unchecked`.
    Noticed,
    /// It is refused with this code, even if forced.
    Refused(&'a str),
}
use Checked::*;

fn text(seed: u8) -> String {
    let byte = format!("{seed:02x}");
    [4, 2, 2, 2, 6].map(|count| byte.repeat(count)).join("-")
}

fn grains(seed: u8) -> Vec<Grain> {
    vec![Grain::Data(pattern(seed, 8 * SECTOR)); 8]
}

fn kdmv(cid: &str, parent_cid: &str, lines: &str, grains: &[Grain]) -> Vec<u8> {
    let text = descriptor("monolithicSparse", "RW 64 SPARSE \"x.vmdk\"\n");
    let (before, after) = text.split_once("CID=").unwrap();
    let after = after.split_once('\n').unwrap().1;
    let text = format!("{before}CID={cid}\n{after}").replace("parentCID=ffffffff", &format!("parentCID={parent_cid}"));
    Kdmv { descriptor: Some(text + lines), ..Kdmv::default() }.build(grains)
}

/// Calls `check` with every row.
fn each_row(check: impl Fn(&Row<'_>)) {
    let absent = vec![Grain::Absent; 8];
    let vmdk_disk = pattern(5, 8 * SECTOR).repeat(8);
    let named = "parentFileNameHint=\"p.vmdk\"\n";
    let vmdk = |parent_cid: &str, lines: &str| kdmv("00000001", parent_cid, lines, &absent);
    let cid = |cid: &str| ("p.vmdk", kdmv(cid, "ffffffff", "", &grains(5)));
    let (id, state) = (text(0x22), text(0x33));
    let boxed = format!("{named}ddb.uuid.parent=\"{id}\"\nddb.uuid.parentmodification=\"{state}\"\n");
    let uuids = |id: u8, state: u8| {
        let lines = format!("ddb.uuid.image=\"{}\"\nddb.uuid.modification=\"{}\"\n", text(id), text(state));
        ("p.vmdk", kdmv("00000009", "ffffffff", &lines, &grains(5)))
    };
    let block = 4096;
    let vhd_parent = Vhd { id: 7, ..Vhd::new(block, &[vhd::Block::Data(5, 0xff)]) };
    let vhd_child = |parent: u8| {
        let blocks = &[vhd::Block::Absent];
        Vhd { kind: vhd::DIFFERENCING, parent, parent_name: "p", ..Vhd::new(block, blocks) }.file()
    };
    let fixed = Vhd { kind: vhd::FIXED, ..vhd_parent.clone() };
    let vhd_disk = vhd_parent.disk(&[]);
    let vdi_parent = Vdi { id: 2, state: 3, ..Vdi::new(block, &[vdi::Block::Data(5)]) };
    let vdi_child =
        Vdi { kind: vdi::DIFFERENCING, id: 8, parent: 2, parent_state: 3, ..Vdi::new(block, &[vdi::Block::Free]) };
    let vdi_disk = vdi_parent.disk(&[]);
    let vdi_name = &*text(2);
    let vhdx_parent = Vhdx { id: 7, size: 4096, ..Vhdx::new(&[vhdx::Block::Data(5)]) };
    let vhdx_child = |locator: &[(&str, &str)]| {
        let mut child = Vhdx { size: 4096, ..Vhdx::over(7, &[vhdx::Block::State(0)]) };
        child.locator = locator;
        child.file()
    };
    let path = ("relative_path", ".\\p");
    let linkage = |seed: u8| vhdx::linkage(seed);
    let vhdx_disk = vhdx_parent.disk(&[]);
    let (seven, nine) = (text(7), text(9));
    let row = |what, child, parent, disk: &Vec<u8>, checked| Row { what, child, parent, disk: disk.clone(), checked };
    let states = format!("{id} in state {state}");
    let has = [format!("{id} in state {}", text(0x44)), format!("{} in state {state}", text(0x44))];
    let vdi_states = format!("{} in state {}", text(2), text(3));
    let vdi_has = [format!("{} in state {}", text(2), text(4)), format!("{} in state {}", text(4), text(3))];
    let rows = [
        row("VMDK", vmdk("0000abcd", named), cid("0000ABCD"), &vmdk_disk, Right),
        row(
            "VMDK of another content ID",
            vmdk("0000abcd", named),
            cid("12345678"),
            &vmdk_disk,
            Wrong("wrong-parent", Some(("0000abcd", "12345678"))),
        ),
        row("VMDK with a path only", vmdk("ffffffff", named), cid("1"), &vmdk_disk, Noticed),
        row("VMDK of VirtualBox", vmdk("ffffffff", &boxed), uuids(0x22, 0x33), &vmdk_disk, Right),
        row(
            "VMDK of VirtualBox, changed",
            vmdk("ffffffff", &boxed),
            uuids(0x22, 0x44),
            &vmdk_disk,
            Wrong("wrong-parent", Some((&states, &has[0]))),
        ),
        row(
            "another VMDK of VirtualBox",
            vmdk("ffffffff", &boxed),
            uuids(0x44, 0x33),
            &vmdk_disk,
            // The first of its identities is its content ID.
            Wrong("wrong-parent", Some((&states, "00000009"))),
        ),
        row("VHD", vhd_child(7), ("p", vhd_parent.file()), &vhd_disk, Right),
        row(
            "another VHD",
            vhd_child(9),
            ("p", vhd_parent.file()),
            &vhd_disk,
            Wrong("wrong-parent", Some((&nine, &seven))),
        ),
        row(
            "a VHD without a UUID",
            vhd_child(9),
            ("p", Vhd { id: 0, ..vhd_parent.clone() }.file()),
            &vhd_disk,
            Wrong("wrong-parent", Some((&nine, "none"))),
        ),
        row("VHD over a raw disk", vhd_child(0), ("p", vhd_disk.clone()), &vhd_disk, Noticed),
        row(
            "VHD over a raw disk, by no UUID",
            vhd_child(0),
            ("p", vhd_parent.file()),
            &vhd_disk,
            Refused("parent-unverifiable"),
        ),
        row("and a fixed one", vhd_child(0), ("p", fixed.file()), &vhd_disk, Refused("parent-unverifiable")),
        row("VDI", vdi_child.file(), (vdi_name, vdi_parent.file()), &vdi_disk, Right),
        row(
            "VDI, changed",
            vdi_child.file(),
            (vdi_name, Vdi { state: 4, ..vdi_parent.clone() }.file()),
            &vdi_disk,
            Wrong("wrong-parent", Some((&vdi_states, &vdi_has[0]))),
        ),
        row(
            "another VDI",
            vdi_child.file(),
            (vdi_name, Vdi { id: 4, ..vdi_parent.clone() }.file()),
            &vdi_disk,
            Wrong("wrong-parent", Some((&vdi_states, &vdi_has[1]))),
        ),
        row("VHDX", vhdx_child(&[path, ("parent_linkage", &linkage(7))]), ("p", vhdx_parent.file()), &vhdx_disk, Right),
        row(
            "another VHDX",
            vhdx_child(&[path, ("parent_linkage", &linkage(9))]),
            ("p", vhdx_parent.file()),
            &vhdx_disk,
            Wrong("wrong-parent", Some((&nine, &seven))),
        ),
        row(
            "VHDX without a linkage",
            vhdx_child(&[path]),
            ("p", vhdx_parent.file()),
            &vhdx_disk,
            Wrong("parent-unverifiable", None),
        ),
        row(
            "VHDX with a null linkage",
            vhdx_child(&[path, ("parent_linkage", &linkage(0))]),
            ("p", vhdx_parent.file()),
            &vhdx_disk,
            Wrong("parent-unverifiable", None),
        ),
        row(
            "VHDX with a linkage that is no GUID",
            vhdx_child(&[path, ("parent_linkage", "{7}")]),
            ("p", vhdx_parent.file()),
            &vhdx_disk,
            Wrong("parent-unverifiable", None),
        ),
    ];
    rows.iter().for_each(check);
}

fn case(row: &Row<'_>, force_parent: bool) -> Case {
    let (name, parent) = &row.parent;
    Case { force_parent, companions: vec![((*name).to_owned(), parent.clone())], ..Case::new(row.child.clone()) }
}

fn notices(case: &Case, code: &str) -> Vec<Notice> {
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    info.safety.into_iter().filter(|notice| notice.code == code).collect()
}

#[test]
fn a_wrong_parent_is_refused_with_both_identities() {
    each_row(|row| {
        let what = row.what;
        let found = case(row, false).bytes();
        let (code, identities) = match row.checked {
            Right | Noticed => {
                assert!(found.as_ref() == Ok(&row.disk), "{what}: {:?}", found.err());
                return;
            }
            Wrong(code, identities) => (code, identities),
            Refused(code) => (code, None),
        };
        let error = found.expect_err(what);
        assert_eq!((error.kind, &*error.code), (Corrupt, code), "{what}: {error}");
        for (name, value) in identities.iter().flat_map(|&(wanted, found)| [("wanted", wanted), ("found", found)]) {
            assert_eq!(error.fields.get(name), Some(&Field::from(value)), "{what}: {error}");
            assert!(error.message().contains(value), "{what}: {error}");
        }
    });
}

#[test]
fn a_forced_parent_is_read_with_a_notice() {
    each_row(|row| {
        let what = row.what;
        let forced = case(row, true);
        let found = forced.bytes();
        if let Refused(code) = row.checked {
            assert_eq!(&*found.expect_err(what).code, code, "{what}");
            return;
        }
        assert!(found.as_ref() == Ok(&row.disk), "{what}: {:?}", found.err());
        let [forced_notices, unchecked] = ["parent-forced", "parent-unchecked"].map(|code| notices(&forced, code));
        let (is_forced, is_unchecked) = match row.checked {
            Wrong(_, identities) => (identities.is_some(), identities.is_none()),
            Noticed => (false, true),
            Right | Refused(_) => (false, false),
        };
        assert_eq!((forced_notices.len(), unchecked.len()), (is_forced.into(), is_unchecked.into()), "{what}");
        if let (Wrong(_, Some((wanted, has))), [notice]) = (&row.checked, &forced_notices[..]) {
            assert_eq!(notice.fields.get("wanted"), Some(&Field::from(*wanted)), "{what}");
            assert_eq!(notice.fields.get("found"), Some(&Field::from(*has)), "{what}");
        }
    });
}
