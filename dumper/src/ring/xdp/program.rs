//! The program that hands the frames of an interface to a socket (bpf(2), linux/bpf.h).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::libc;

use crate::ring::socket::{Interface, OpenError, system};

/// Commands of bpf(2).
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;

/// Kind of map that has sockets of AF_XDP by the number of a queue.
const MAP_TYPE_XSKMAP: u32 = 17;
/// Kind of program that sees the frames of an interface, and where it is attached.
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// It takes frames that are in several pages.
const XDP_HAS_FRAGS: u32 = 1 << 5;
/// It runs in the driver, or else behind it.
const IN_DRIVER: u32 = 1 << 2;
const BEHIND_DRIVER: u32 = 1 << 1;

/// Bytes that the attributes of every command have room in.
const ATTRIBUTES: usize = 128;

/// The program, while it is attached.
pub(super) struct Program {
    _link: OwnedFd,
    _map: OwnedFd,
}

/// An instruction: operation, registers, offset, and a number.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    operation: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

impl Program {
    /// Hands the frames of the first queue of an interface to a socket, and those of others, of which there are none, to the kernel.
    pub(super) fn attach(socket: &OwnedFd, interface: Interface) -> Result<Self, OpenError> {
        // key, value, and number of entries: one socket.
        let map = made(MAP_CREATE, &short([MAP_TYPE_XSKMAP, 4, 4, 1]))
            .map_err(system("a map of sockets cannot be made (it takes the capability CAP_BPF)"))?;
        let (queue, value) = (0_u32, socket.as_raw_fd());
        let pointers = [(&raw const queue).expose_provenance(), (&raw const value).expose_provenance()];
        let update = long([map.as_raw_fd() as u64, pointers[0] as u64, pointers[1] as u64]);
        bpf(MAP_UPDATE_ELEM, &update).map_err(system("the socket cannot be put into the map"))?;
        let program = load(&map).map_err(system("the program for frames is refused"))?;
        let attach = |place| {
            made(LINK_CREATE, &short([program.as_raw_fd() as u32, interface.index, ATTACH_XDP, place]))
        };
        let link = attach(IN_DRIVER)
            .or_else(|_| attach(BEHIND_DRIVER))
            .map_err(system("the program for frames cannot be attached to the interface"))?;
        Ok(Self { _link: link, _map: map })
    }
}

/// Loads the program: `bpf_redirect_map(map, queue of the frame, XDP_PASS)`.
fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    const LOAD_WORD: u8 = 0x61;
    const LOAD_NUMBER: u8 = 0x18;
    const MOVE_NUMBER: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    /// Of the queue's number in what the program is given, `struct xdp_md`.
    const QUEUE_AT: i16 = 16;
    /// The number is the descriptor of a map.
    const IS_MAP: u8 = 1 << 4;
    const XDP_PASS: i32 = 2;
    const REDIRECT_MAP: i32 = 51;
    let instruction =
        |operation, registers, offset, number| Instruction { operation, registers, offset, number };
    let program = [
        instruction(LOAD_WORD, 2 | 1 << 4, QUEUE_AT, 0),
        instruction(LOAD_NUMBER, 1 | IS_MAP, 0, map.as_raw_fd()),
        instruction(0, 0, 0, 0),
        instruction(MOVE_NUMBER, 3, 0, XDP_PASS),
        instruction(CALL, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ];
    let license = c"MIT";
    let count = program.len() as u64;
    let both = |first: u32, second: u64| u64::from(first) | second << 32;
    let pointer = program.as_ptr().expose_provenance() as u64;
    let license_at = license.as_ptr().expose_provenance() as u64;
    let attributes = |flags: u32| {
        let (kind, attach) = (both(PROG_TYPE_XDP, count), both(0, ATTACH_XDP.into()));
        // Between them: a log, which is not asked for, the flags, and a name.
        long([kind, pointer, license_at, 0, 0, both(0, flags.into()), 0, 0, attach])
    };
    // Kernels before 5.18 have no frames in several pages.
    made(PROG_LOAD, &attributes(XDP_HAS_FRAGS)).or_else(|_| made(PROG_LOAD, &attributes(0)))
}

/// Attributes of a command.
type Attributes = [u8; ATTRIBUTES];

/// Attributes of numbers of 32 bits.
fn short(numbers: [u32; 4]) -> Attributes {
    filled(numbers.into_iter().flat_map(u32::to_ne_bytes))
}

/// Attributes of numbers of 64 bits.
fn long<const N: usize>(numbers: [u64; N]) -> Attributes {
    filled(numbers.into_iter().flat_map(u64::to_ne_bytes))
}

fn filled(bytes: impl Iterator<Item = u8>) -> Attributes {
    let mut attributes = [0; ATTRIBUTES];
    attributes.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
    attributes
}

/// A command whose result is a descriptor.
fn made(command: libc::c_int, attributes: &Attributes) -> io::Result<OwnedFd> {
    let descriptor = bpf(command, attributes)?;
    // SAFETY: a descriptor that was just opened belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn bpf(command: libc::c_int, attributes: &Attributes) -> io::Result<libc::c_int> {
    // SAFETY: the attributes have the length that is given; what they point to outlives the call, as the callers hold it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), attributes.len()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}
