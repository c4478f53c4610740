/** The parts of the MCP SDK that the tests use. */
export {
  Client,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  requestJwtAuthorizationGrant,
} from "@modelcontextprotocol/client";
export { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
export {
  acceptedContent,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
export {
  StdioServerTransport,
  serveStdio,
} from "@modelcontextprotocol/server/stdio";
