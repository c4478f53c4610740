import { readFileSync } from "node:fs";
import { readKnownFailing } from "@devtool/conformance";
import type { KnownFailing } from "@devtool/schema/conformance";

/** The file of what a peer is known to fail, by hand: `known-failing/<peer>.json`. */
export function knownFailingFile(peer: string): URL {
  const words = peer.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return new URL(`known-failing/${words.join("-")}.json`, import.meta.url);
}

/** The cases that a peer is known to fail, each with the reason. */
export function knownFailingOf(peer: string): KnownFailing {
  return readKnownFailing(readFileSync(knownFailingFile(peer), "utf8"));
}
