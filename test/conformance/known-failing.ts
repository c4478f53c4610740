import { readFileSync } from "node:fs";
import { readKnownFailing } from "@devtool/conformance/operator";
import type { KnownFailing } from "@devtool/conformance/protos";

/**
 * Returns the hand-written list of known failures of a peer:
 * `known-failing/<peer>.json`.
 */
export function knownFailingFile(peer: string): URL {
  const words = peer.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return new URL(`known-failing/${words.join("-")}.json`, import.meta.url);
}

/** Reads the cases that a peer is known to fail, each with the reason. */
export function knownFailingOf(peer: string): KnownFailing {
  return readKnownFailing(readFileSync(knownFailingFile(peer), "utf8"));
}
