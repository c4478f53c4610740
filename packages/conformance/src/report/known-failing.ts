import { fromJsonString } from "@bufbuild/protobuf";
import { type ExpectedFailure, type KnownFailing, KnownFailingSchema } from "@devtool/schema/conformance";

/**
 * Reads a list of known failures from JSON (`KnownFailing`). Throws for unknown fields, for an entry
 * without a reason, and for an entry that is listed twice.
 */
export function readKnownFailing(json: string): KnownFailing {
  const known = fromJsonString(KnownFailingSchema, json);
  const silent = known.failures.find(({ reason }) => reason.trim() === "");
  if (silent) throw new Error(`known failure "${silent.id}" has no reason: say why it fails`);
  const keys = known.failures.map(({ id, binding, protocolVersion }) => [id, protocolVersion, binding].join(" "));
  const twice = known.failures.find((_entry, index) => keys.indexOf(keys[index] ?? "") !== index);
  if (twice) throw new Error(`known failure "${twice.id}" is listed twice: remove one`);
  return known;
}

/**
 * The binding and version that a server was tested over. Both are empty for a program.
 */
export interface BindingId {
  readonly name: string;
  readonly protocolVersion: string;
}

/**
 * Finds the entry of a case for a binding.
 */
export function findKnownFailure(known: KnownFailing, id: string, binding: BindingId): ExpectedFailure | undefined {
  return known.failures.find((entry) => entry.id === id && appliesTo(entry, binding));
}

/**
 * Finds the entries for a binding that name none of the cases.
 */
export function findStrayFailures(known: KnownFailing, ids: readonly string[], binding: BindingId): ExpectedFailure[] {
  return known.failures.filter((entry) => appliesTo(entry, binding) && !ids.includes(entry.id));
}

function appliesTo(
  { binding, protocolVersion }: ExpectedFailure,
  { name, protocolVersion: version }: BindingId,
): boolean {
  return ["", name].includes(binding) && ["", version].includes(protocolVersion);
}
