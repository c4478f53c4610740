import { loadOnce } from "@devtool/internal/load-once";
import { type Dialect, publicRoute, route } from "../dialect.ts";
import type { FailureForm } from "../http/route.ts";

const CATALOG_PATH = "/.well-known/ai-catalog.json";

/**
 * Agentic Resource Discovery (ARD) 0.9: the catalog of the server's agents,
 * which all may read, and `POST /search`, which finds those that its caller may
 * use.
 */
export function ard(): Dialect {
  return (services) => {
    const load = loadOnce(async () => {
      const { Catalog } = await import("./catalog.ts");
      return new Catalog(services);
    });
    return [
      ...["GET", "HEAD"].map((method) =>
        publicRoute(services, method, CATALOG_PATH, async (call) =>
          (await load()).send(call),
        ),
      ),
      route(
        services,
        "POST",
        "/search",
        async (call) => (await load()).search(call),
        failureForm,
      ),
    ];
  };
}

/** Writes errors as the standard has them (appendix B). */
const failureForm: FailureForm = ({ status, message }) => {
  const errorCode = ERROR_CODES[status] ?? "INTERNAL_ERROR";
  return { body: JSON.stringify({ errorCode, message }) };
};

const ERROR_CODES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  413: "INVALID_ARGUMENT",
  415: "INVALID_ARGUMENT",
  429: "RATE_LIMIT_EXCEEDED",
};
