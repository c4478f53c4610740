import { Readable, Writable } from "node:stream";
import { ndJsonStream, type Stream } from "@agentclientprotocol/sdk";

/**
 * Returns the connection to an ACP client over a pair of streams, such as
 * standard input and output: one JSON object a line.
 */
export function stdioStream(input: Readable, output: Writable): Stream {
  return ndJsonStream(Writable.toWeb(output), Readable.toWeb(input));
}
