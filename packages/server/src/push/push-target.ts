import { Code, DevtoolError, invalid } from "../errors.ts";
import {
  checkedAddresses,
  hostPort,
  isAllowedHost,
  type OutboundPolicy,
  parseTarget,
} from "../outbound/outbound-policy.ts";

/**
 * The time limit in milliseconds for the name lookup before a config is stored.
 */
const LOOKUP_TIMEOUT_MS = 5000;

/**
 * Parses the URL of a push config. Throws `Code.InvalidArgument` for a URL that
 * is neither https nor permitted by the operator.
 */
export function assertPushTarget(text: string, policy: OutboundPolicy): URL {
  const url = parseTarget(text);
  if (url.protocol === "https:" || isAllowedHost(url, policy)) return url;
  const remedy = `the operator allows it with ${policy.allowing(hostPort(url))}`;
  throw invalid("url", url.origin, "does not begin with https://", remedy);
}

/**
 * Checks the target of a push config before it is stored (PUSH-2). Throws
 * `Code.InvalidArgument` for a target that must not be reached. Accepts a host
 * name that cannot be resolved now, because each post checks the target again.
 */
export async function checkPushTarget(
  text: string,
  policy: OutboundPolicy,
  signal: AbortSignal,
): Promise<void> {
  const url = assertPushTarget(text, policy);
  try {
    await checkedAddresses(
      url,
      policy,
      AbortSignal.any([signal, AbortSignal.timeout(LOOKUP_TIMEOUT_MS)]),
    );
  } catch (reason) {
    signal.throwIfAborted();
    if (
      reason instanceof DevtoolError &&
      reason.code === Code.PermissionDenied
    ) {
      const { problem, remedy } = reason;
      const details = { field: "url", value: url.host };
      throw new DevtoolError(problem, Code.InvalidArgument, {
        remedy,
        cause: reason,
        details,
      });
    }
  }
}
