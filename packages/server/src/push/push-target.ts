import { Code, DevtoolError, invalid } from "../errors.ts";
import { checkedAddresses, isAllowedHost, type OutboundPolicy, parseTarget } from "../tool/outbound/outbound-policy.ts";

/** The names of a target are looked up for so long before they are left to the first post. */
const LOOKUP_MS = 5000;

/** Reads the URL of a config. Throws `Code.InvalidArgument` for one that is neither https nor listed by the operator. */
export function assertPushTarget(text: string, policy: OutboundPolicy): URL {
  const url = parseTarget(text);
  if (url.protocol === "https:" || isAllowedHost(url, policy)) return url;
  throw invalid("url", url.origin, "must begin with https://, or be listed by the operator in push_targets");
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
      throw new DevtoolError(reason.message, Code.InvalidArgument, { cause: reason, details: urlDetails(url) });
    }
  }
}

function urlDetails({ host }: URL): { field: string; value: string } {
  return { field: "url", value: host };
}
