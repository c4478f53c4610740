import { PolicyError, type PolicyErrorReason } from "@devtool/policy";
import { SandboxError } from "@devtool/sandbox";
import { Code, DevtoolError } from "@devtool/server/agent";

const POLICY_CODES: Readonly<Record<PolicyErrorReason, Code>> = {
  invalid: Code.InvalidArgument,
  "cannot-save": Code.FailedPrecondition,
  "not-written": Code.Unavailable,
};

/** What `@devtool/policy` or `@devtool/sandbox` threw on purpose as the error that may be sent; anything else as it is. */
export function translateError(reason: unknown): unknown {
  if (!(reason instanceof PolicyError || reason instanceof SandboxError)) return reason;
  const { problem, remedy } = reason;
  const code = reason instanceof PolicyError ? POLICY_CODES[reason.reason] : Code.FailedPrecondition;
  return new DevtoolError(problem, code, { remedy, cause: reason });
}
