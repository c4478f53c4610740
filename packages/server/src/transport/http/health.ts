import {
  create,
  fromJson,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import { ReadinessRequestSchema, ReadinessSchema } from "@devtool/schema";
import {
  documentRoute,
  type HttpResponse,
  type Route,
  send,
  sendError,
} from "./route.ts";
import { PROOF_BYTES } from "./server-proof.ts";

interface HealthOptions {
  /**
   * Resolves to the reason why the server accepts no work; empty when it does.
   */
  readonly problem: () => Promise<string>;
  /** Returns the server's proof of its identity for a challenge. */
  readonly prove: (challenge: Uint8Array) => Uint8Array;
}

/**
 * The health probes, which need no credentials.
 *
 * - `/healthz` answers 200 while the process runs.
 * - `/readyz` answers 200 while the server accepts work, and 503 with the
 *   reason while it does not. With a `challenge` in the query, the server also
 *   proves its identity.
 */
export function healthRoutes({
  problem: findProblem,
  prove,
}: HealthOptions): Route[] {
  return [
    documentRoute("/healthz", (_request, response) =>
      sendReadiness(response, 200, { status: "ok" }),
    ),
    documentRoute("/readyz", async (request, response) => {
      const [text, ...others] = new URL(
        request.url ?? "",
        "http://server",
      ).searchParams.getAll("challenge");
      // 32 bytes are 43 characters of base64url. Nothing longer is decoded.
      if (
        others.length > 0 ||
        (text !== undefined && !/^[\w-]{43}$/.test(text))
      ) {
        const problem = `challenge cannot be read: send ${PROOF_BYTES} bytes, once, in base64url`;
        return sendError(response, 400, problem);
      }
      const { challenge } = fromJson(
        ReadinessRequestSchema,
        text === undefined ? {} : { challenge: text },
      );
      const problem = await findProblem();
      const proof = challenge.length > 0 ? prove(challenge) : new Uint8Array();
      if (problem === "") {
        sendReadiness(response, 200, { status: "ok", proof });
      } else {
        sendReadiness(response, 503, { status: "unavailable", problem, proof });
      }
    }),
  ];
}

function sendReadiness(
  response: HttpResponse,
  status: number,
  readiness: MessageInitShape<typeof ReadinessSchema>,
): void {
  const body = toJsonString(
    ReadinessSchema,
    create(ReadinessSchema, readiness),
  );
  send(response, status, { body, "cache-control": "no-store" });
}
