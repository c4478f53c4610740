import { fromJsonString } from "@bufbuild/protobuf";
import { type ExpectedFailure, type KnownFailing, KnownFailingSchema } from "@devtool/schema/conformance";

/** Reads a list of known failures. Throws, naming what is wrong, also for an entry without a reason or one that is there twice. */
export function readKnownFailing(json: string): KnownFailing {
  const known = fromJsonString(KnownFailingSchema, json);
  const silent = known.failures.find(({ reason }) => reason.trim() === "");
  if (silent) throw new Error(`known failure "${silent.id}" has no reason: say why it fails`);
  const keys = known.failures.map((entry) => keyOf(entry));
  const twice = known.failures.find((entry, index) => keys.indexOf(keyOf(entry)) !== index);
  if (twice) throw new Error(`known failure "${twice.id}" is listed twice: leave one`);
  return known;
}

/** Finds why a case is known to fail in a version and binding. */
export function knownFailure(known: KnownFailing, id: string, way: Way): ExpectedFailure | undefined {
  return known.failures.find((entry) => entry.id === id && isFor(entry, way));
}

/** The entries for a version and binding that name none of the cases: they expect what cannot happen. */
export function strayFailures(known: KnownFailing, ids: readonly string[], way: Way): ExpectedFailure[] {
  return known.failures.filter((entry) => isFor(entry, way) && !ids.includes(entry.id));
}

function keyOf({ id, binding, protocolVersion }: ExpectedFailure): string {
  return [id, protocolVersion, binding].join(" ");
}

/** How a server was spoken to. */
interface Way {
  readonly name: string;
  readonly protocolVersion: string;
}

function isFor({ binding, protocolVersion }: ExpectedFailure, way: Way): boolean {
  return ["", way.name].includes(binding) && ["", way.protocolVersion].includes(protocolVersion);
}
