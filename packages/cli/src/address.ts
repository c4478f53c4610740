import type { ServerInfo } from "@devtool/schema";

/** A server's address and token. */
export interface Address {
  readonly url: string;
  readonly token: string;
  /** The certificate in PEM that is trusted there, and no other. Default: the authorities that Node trusts. */
  readonly certificate?: string;
  /** What the server's discovery file says, when the address or the token is from there. */
  readonly info?: ServerInfo;
}
