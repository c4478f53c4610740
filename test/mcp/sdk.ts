/** The SDK that the server package depends on; the tests at the root are no package of their own. */
export {
  Client,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "../../packages/server/node_modules/@modelcontextprotocol/client/dist/index.mjs";
export { StdioClientTransport } from "../../packages/server/node_modules/@modelcontextprotocol/client/dist/stdio.mjs";
export {
  acceptedContent,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from "../../packages/server/node_modules/@modelcontextprotocol/server/dist/index.mjs";
export { serveStdio } from "../../packages/server/node_modules/@modelcontextprotocol/server/dist/stdio.mjs";
