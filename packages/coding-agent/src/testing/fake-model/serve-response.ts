import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { isObject } from "@devtool/internal/json";

/** Serves one response to every request, after its body, on a free port. */
export async function serveResponse(
  respond: (response: ServerResponse) => void,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(
    (request, response) =>
      void request.resume().on("end", () => respond(response)),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${isObject(address) ? address.port : 0}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}
