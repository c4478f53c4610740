/**
 * A server of Node that answers everything with `{}`: the lower bound for
 * servers on Node.
 */
import { createServer } from "node:http";

const server = createServer((_request, response) => response.end("{}"));
server.listen(0, "127.0.0.1", () => {
  console.log(
    JSON.stringify({
      url: `http://127.0.0.1:${server.address().port}`,
      token: "",
    }),
  );
});
process.on("SIGTERM", () => process.exit());
