import { isUtf8 } from "node:buffer";

/** What the first bytes of a file say that it is; undefined when they say nothing that is known here. */
interface Kind {
  readonly name: string;
  readonly isImage?: boolean;
  /** Where the width and the height of an image lie. */
  readonly size?: (head: Buffer) => readonly [number, number];
}

/** So many bytes tell what kind of content a file has. */
export const HEAD_BYTES = 8192;

/** Says of what kind content is, and how large: `PNG image, 640×480 pixels, 1234 bytes`. Takes its first bytes. */
export function describeContent(head: Buffer, bytes: number): string {
  const kind = kindOf(head);
  const size = kind?.size && head.length >= 32 ? kind.size(head) : undefined;
  return [kind?.name, size && `${size[0]}×${size[1]} pixels`, `${bytes} bytes`].filter(Boolean).join(", ");
}

/** Tells whether content begins as an image of a known format does. */
export function isImage(head: Buffer): boolean {
  return kindOf(head)?.isImage === true;
}

/** Tells whether the first bytes of a file are text: UTF-8 without NUL, with at most a character cut at the end. */
export function isText(head: Buffer): boolean {
  if (head.includes(0)) return false;
  return [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, Math.max(0, head.length - cut))));
}

function kindOf(head: Buffer): Kind | undefined {
  return KINDS.find(({ starts, at = 0 }) => head.subarray(at, at + starts.length).equals(starts))?.kind;
}

function image(name: string, size?: Kind["size"]): Kind {
  return { name: `${name} image`, isImage: true, ...(size && { size }) };
}

function latin(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

const KINDS: readonly { readonly starts: Buffer; readonly at?: number; readonly kind: Kind }[] = [
  { starts: latin("\x89PNG\r\n\x1a\n"), kind: image("PNG", (head) => [head.readUInt32BE(16), head.readUInt32BE(20)]) },
  { starts: latin("GIF8"), kind: image("GIF", (head) => [head.readUInt16LE(6), head.readUInt16LE(8)]) },
  { starts: latin("\xff\xd8\xff"), kind: image("JPEG") },
  { starts: latin("WEBP"), at: 8, kind: image("WebP") },
  { starts: latin("BM"), kind: image("BMP", (head) => [head.readInt32LE(18), Math.abs(head.readInt32LE(22))]) },
  { starts: latin("%PDF-"), kind: { name: "PDF document" } },
  { starts: latin("PK\x03\x04"), kind: { name: "ZIP archive or office document" } },
  { starts: latin("\x1f\x8b"), kind: { name: "gzip archive" } },
  { starts: latin("(\xb5/\xfd"), kind: { name: "Zstandard archive" } },
  { starts: latin("\x7fELF"), kind: { name: "ELF program or library" } },
  { starts: latin("\0asm"), kind: { name: "WebAssembly module" } },
  { starts: latin("SQLite format 3\0"), kind: { name: "SQLite database" } },
  { starts: latin("\xff\xfe"), kind: { name: "UTF-16 text" } },
  { starts: latin("\xfe\xff"), kind: { name: "UTF-16 text" } },
];
