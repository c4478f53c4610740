import {
  create,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { objectOrEmpty } from "@devtool/internal/json";
import { snakeCase } from "@devtool/internal/snake-case";
import { WireError } from "@devtool/schema";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  type missingFields,
} from "@devtool/schema/a2a-v1";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import { a2aErrorText, a2aFieldName } from "../a2a/field-name.ts";
import {
  type ErrorTable,
  type FailureCodes,
  HTTP_STATUS,
  OWN_REASONS,
  type Reason,
  RPC_CODES,
} from "./error-table.ts";

const DOMAIN = "a2a-protocol.org";
const OWN_DOMAIN = "devtool.dev";

/** A field of a request that is not valid, and what is wrong with it. */
type MissingField = ReturnType<typeof missingFields>[number];
type Violation = Pick<MissingField, "field" | "description">;

/** A failure that A2A 1.0 has a name for. */
export class A2aFailure extends Error {
  override readonly name = "A2aFailure";

  constructor(
    message: string,
    readonly reason: Reason,
    /** The metadata of the `ErrorInfo`: ids and versions by name. */
    readonly metadata: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** All fields of a request that are not valid. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest";

  constructor(readonly violations: readonly MissingField[]) {
    super(
      violations
        .map(({ field, description }) => `${field} ${description}`.trim())
        .join("; "),
    );
  }
}

/**
 * Returns the error that gRPC sends for anything that a method throws.
 *
 * The other bindings show the same details from `google.rpc`: `ErrorInfo` and
 * `BadRequest`.
 */
export function connectErrorFrom(
  reason: unknown,
  table: ErrorTable,
): ConnectError {
  if (reason instanceof ConnectError) return reason;
  if (reason instanceof A2aFailure) return namedError(reason, table);
  if (reason instanceof InvalidRequest) {
    return badRequest(reason.message, reason.violations);
  }
  if (reason instanceof WireError) {
    return badRequest(reason.message, [
      { field: reason.field, description: reason.message },
    ]);
  }
  const error = DevtoolError.from(reason);
  const { code, details } = error;
  const field = details?.field ?? "";
  const message = a2aErrorText(error.message, field);
  const violations = details
    ? [{ field: a2aFieldName(field), description: message }]
    : [];
  if (code === Code.InvalidArgument || code === Code.OutOfRange) {
    return badRequest(message, violations);
  }
  const failure = failureReason(code, details);
  if (failure) {
    const namesSubject =
      failure === "TASK_NOT_FOUND" || failure === "ALREADY_EXISTS";
    const metadata =
      details && namesSubject ? { [a2aFieldName(field)]: details.value } : {};
    return namedError(new A2aFailure(message, failure, metadata), table);
  }
  // A limit that the client can keep to names the field that it is about.
  const isLimit = code === Code.ResourceExhausted && details !== undefined;
  return new ConnectError(
    message,
    code,
    undefined,
    isLimit ? [violationsDetail(violations)] : [],
    error.cause,
  );
}

/**
 * Returns the name that A2A has for an error of our own services; undefined for
 * one that it does not name.
 */
function failureReason(
  code: Code,
  details: DevtoolError["details"],
): Reason | undefined {
  switch (code) {
    case Code.NotFound:
      return "TASK_NOT_FOUND";
    case Code.AlreadyExists:
      return "ALREADY_EXISTS";
    case Code.ResourceExhausted:
      // With details it is a limit that the client can keep to. Without, the
      // server is out of resources.
      return details ? undefined : "RESOURCE_EXHAUSTED";
    case Code.Unavailable:
      return "UNAVAILABLE";
    case Code.Unimplemented:
      // Notifications are the only service that a server may lack.
      return "PUSH_NOTIFICATION_NOT_SUPPORTED";
    case Code.FailedPrecondition:
    case Code.Aborted:
    case Code.Canceled:
      return "UNSUPPORTED_OPERATION";
    default:
      return undefined;
  }
}

function namedError(
  { message, reason, metadata }: A2aFailure,
  table: ErrorTable,
): ConnectError {
  const domain = OWN_REASONS.has(reason) ? OWN_DOMAIN : DOMAIN;
  const info = {
    desc: ErrorInfoSchema,
    value: { reason, domain, metadata: { ...metadata } },
  };
  const [, , code] = table[reason];
  return new ConnectError(message, code, undefined, [info]);
}

function badRequest(
  message: string,
  violations: readonly Violation[],
): ConnectError {
  return new ConnectError(message, Code.InvalidArgument, undefined, [
    // The standard has no reason for it, but its SDKs tell this error from
    // others by this one.
    {
      desc: ErrorInfoSchema,
      value: { reason: "INVALID_PARAMS", domain: DOMAIN },
    },
    violationsDetail(violations),
  ]);
}

function violationsDetail(violations: readonly Violation[]) {
  const fieldViolations = violations.map(({ field, description }) => ({
    field,
    description,
  }));
  return { desc: BadRequestSchema, value: { fieldViolations } };
}

/** Returns an error as JSON-RPC sends it. */
export function rpcErrorFrom(
  error: ConnectError,
  table: ErrorTable,
): JsonObject {
  const data = encodeDetails(error);
  const [code = RPC_CODES.get(error.code) ?? JsonRpcCode.INTERNAL_ERROR] =
    codesOf(error, table) ?? [];
  const message = error.rawMessage;
  return data.length > 0 ? { code, message, data } : { code, message };
}

/**
 * Returns an error as HTTP+JSON sends it: its status, and its body in the form
 * of AIP-193.
 */
export function httpErrorFrom(
  error: ConnectError,
  table: ErrorTable,
): { readonly status: number; readonly body: JsonObject } {
  const [, code = HTTP_STATUS[error.code]] = codesOf(error, table) ?? [];
  const details = encodeDetails(error);
  return {
    status: code,
    body: {
      error: {
        code,
        status: statusName(error.code),
        message: error.rawMessage,
        details,
      },
    },
  };
}

/** Returns the name of a code in `google.rpc`. */
function statusName(code: Code): string {
  if (code === Code.Canceled) return "CANCELLED";
  return snakeCase(Code[code]).toUpperCase();
}

/** Returns the codes of a named failure; undefined for any other error. */
function codesOf(
  error: ConnectError,
  table: ErrorTable,
): FailureCodes | undefined {
  const [info] = error.findDetails(ErrorInfoSchema);
  const codes: Readonly<Record<string, FailureCodes>> = table;
  return info && Object.hasOwn(codes, info.reason)
    ? codes[info.reason]
    : undefined;
}

function encodeDetails(error: ConnectError): JsonValue[] {
  return [
    ...error
      .findDetails(ErrorInfoSchema)
      .map((detail) => encodeDetail(ErrorInfoSchema, detail)),
    ...error
      .findDetails(BadRequestSchema)
      .map((detail) => encodeDetail(BadRequestSchema, detail)),
  ];
}

/** Encodes a detail as `google.protobuf.Any`, which needs no registry here. */
function encodeDetail<Desc extends DescMessage>(
  schema: Desc,
  detail: MessageInitShape<Desc>,
): JsonObject {
  const json: JsonValue = toJson(schema, create(schema, detail));
  return {
    "@type": `type.googleapis.com/${schema.typeName}`,
    ...objectOrEmpty(json),
  };
}
