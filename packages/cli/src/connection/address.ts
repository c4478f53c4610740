import type { ServerInfo } from "@devtool/schema/operator";

/** A server's address and token. */
export interface Address {
  readonly url: string;
  readonly token: string;
  /**
   * The only certificate to trust, in PEM.
   *
   * Default: the certificate authorities that Node trusts.
   */
  readonly certificate?: string;
  /**
   * The content of the discovery file that the address or the token was read
   * from, if it was.
   */
  readonly info?: ServerInfo;
}
