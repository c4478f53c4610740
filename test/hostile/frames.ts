import { joined, mutateBytes, type Random } from "./mutate.ts";

/** A message in the frame of gRPC and of Connect's streams. */
export function framed(data: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return joined(head, data);
}

/**
 * A frame that is now and then wrong itself: its flags, its length, a second
 * one behind it.
 */
export function changedFrame(data: Uint8Array, random: Random): Uint8Array {
  const frame = framed(data);
  switch (random(8)) {
    case 0:
      return mutateBytes(frame, random);
    case 1:
      return joined(frame, framed(data));
    case 2:
      return frame.slice(0, random(frame.length));
    default:
      return frame;
  }
}

export interface Frame {
  readonly flags: number;
  readonly data: Buffer;
}

/** The frames of a body, as far as they are whole. */
export function framesOf(body: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    frames.push({
      flags: body.readUInt8(at),
      data: body.subarray(at + 5, end),
    });
    at = end;
  }
  return frames;
}
