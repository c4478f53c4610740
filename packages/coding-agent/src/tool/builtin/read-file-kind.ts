import { isUtf8 } from "node:buffer";

/** A kind of binary file that is recognized by its first bytes. */
interface Kind {
  readonly name: string;
  readonly isImage?: true;
  /**
   * Reads the width and height of an image in pixels from its first 32 bytes.
   */
  readonly size?: (head: Buffer) => readonly [number, number];
}

/**
 * The number of bytes at the beginning of a file from which its kind is
 * recognized.
 */
export const HEAD_BYTES = 8192;

/**
 * Describes the kind and size of a file, for instance
 * `PNG image, 640×480 pixels, 1234 bytes`. `head` is its beginning.
 */
export function describeContent(head: Buffer, bytes: number): string {
  const kind = findKind(head);
  const size = kind?.size && head.length >= 32 ? kind.size(head) : undefined;
  return [kind?.name, size && `${size[0]}×${size[1]} pixels`, `${bytes} bytes`]
    .filter(Boolean)
    .join(", ");
}

/**
 * Returns whether a file is an image of a known format. `head` is its
 * beginning.
 */
export function isImage(head: Buffer): boolean {
  return findKind(head)?.isImage === true;
}

/**
 * Returns whether the beginning of a file is text: UTF-8 without NUL. The last
 * character may be incomplete.
 */
export function isText(head: Buffer): boolean {
  if (head.includes(0)) return false;
  return [0, 1, 2, 3].some((cut) =>
    isUtf8(head.subarray(0, Math.max(0, head.length - cut))),
  );
}

function findKind(head: Buffer): Kind | undefined {
  const found = KINDS.find(({ magic, offset = 0 }) =>
    head.subarray(offset, offset + magic.length).equals(magic),
  );
  return found?.kind;
}

/** The known kinds by their magic number and its offset in the file. */
const KINDS: readonly {
  readonly magic: Buffer;
  readonly offset?: number;
  readonly kind: Kind;
}[] = [
  {
    magic: Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    kind: {
      name: "PNG image",
      isImage: true,
      size: (head) => [head.readUInt32BE(16), head.readUInt32BE(20)],
    },
  },
  {
    magic: Buffer.from("GIF8", "latin1"),
    kind: {
      name: "GIF image",
      isImage: true,
      size: (head) => [head.readUInt16LE(6), head.readUInt16LE(8)],
    },
  },
  {
    magic: Buffer.from("\xff\xd8\xff", "latin1"),
    kind: { name: "JPEG image", isImage: true },
  },
  {
    magic: Buffer.from("WEBP", "latin1"),
    offset: 8,
    kind: { name: "WebP image", isImage: true },
  },
  {
    magic: Buffer.from("BM", "latin1"),
    kind: {
      name: "BMP image",
      isImage: true,
      size: (head) => [head.readInt32LE(18), Math.abs(head.readInt32LE(22))],
    },
  },
  { magic: Buffer.from("%PDF-", "latin1"), kind: { name: "PDF document" } },
  {
    magic: Buffer.from("PK\x03\x04", "latin1"),
    kind: { name: "ZIP archive or office document" },
  },
  { magic: Buffer.from("\x1f\x8b", "latin1"), kind: { name: "gzip archive" } },
  {
    magic: Buffer.from("(\xb5/\xfd", "latin1"),
    kind: { name: "Zstandard archive" },
  },
  {
    magic: Buffer.from("\x7fELF", "latin1"),
    kind: { name: "ELF program or library" },
  },
  {
    magic: Buffer.from("\0asm", "latin1"),
    kind: { name: "WebAssembly module" },
  },
  {
    magic: Buffer.from("SQLite format 3\0", "latin1"),
    kind: { name: "SQLite database" },
  },
  { magic: Buffer.from("\xff\xfe", "latin1"), kind: { name: "UTF-16 text" } },
  { magic: Buffer.from("\xfe\xff", "latin1"), kind: { name: "UTF-16 text" } },
];
