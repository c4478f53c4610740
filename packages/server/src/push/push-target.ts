import { Code, DevtoolError, invalid } from "../errors.ts";
import {
  checkedAddresses,
  hostPort,
  isAllowedHost,
  type OutboundPolicy,
  parseTarget,
} from "../outbound/outbound-policy.ts";

/** The names of a target are looked up for so long before they are left to the first post. */
const LOOKUP_MS = 5000;

/** Reads the URL of a config. Throws `Code.InvalidArgument` for one that is neither https nor listed by the operator. */
export function assertPushTarget(text: string, policy: OutboundPolicy): URL {
  const url = parseTarget(text);
  if (url.protocol === "https:" || isAllowedHost(url, policy)) return url;
  const remedy = `the operator allows it with ${policy.allowing(hostPort(url))}`;
  throw invalid("url", url.origin, "does not begin with https://", remedy);
}

/**
 * Checks where a config would post to, before anything does (PUSH-2). Throws `Code.InvalidArgument` for what may not be
 * reached. A host whose name is not known now may be known later: each post checks again.
 */
export async function checkPushTarget(text: string, policy: OutboundPolicy, signal: AbortSignal): Promise<void> {
  const url = assertPushTarget(text, policy);
  try {
    await checkedAddresses(url, policy, AbortSignal.any([signal, AbortSignal.timeout(LOOKUP_MS)]));
  } catch (reason) {
    signal.throwIfAborted();
    if (reason instanceof DevtoolError && reason.code === Code.PermissionDenied) {
      const { problem, remedy } = reason;
      throw new DevtoolError(problem, Code.InvalidArgument, { remedy, cause: reason, details: urlDetails(url) });
    }
  }
}

function urlDetails({ host }: URL): { field: string; value: string } {
  return { field: "url", value: host };
}
