/** From so many requests on, one address for all of them is no accident. */
const MANY_REQUESTS = 100;
/** So many clients do not share an address by accident. */
const MANY_CLIENTS = 10;
/** As much of a header as tells clients apart; callers can make it as long as they like. */
const TOLD_APART_BY = 100;

/** Whether clients that a proxy tells apart have addresses that tell them apart, too. */
export class ForwardedClients {
  #requests = 0;
  #address: string | undefined;
  #haveSeveralAddresses = false;
  readonly #clients = new Set<string>();

  /** Takes down the address of a request, and whom the proxy says that it is for. */
  add(address: string | undefined, forwardedFor: string): void {
    this.#requests++;
    this.#address ??= address;
    if (address !== this.#address) this.#haveSeveralAddresses = true;
    if (this.#clients.size < MANY_CLIENTS) this.#clients.add(forwardedFor.slice(0, TOLD_APART_BY));
  }

  get haveSeveralAddresses(): boolean {
    return this.#haveSeveralAddresses;
  }

  /** Many requests, for many clients, from one address. */
  get shareOneAddress(): boolean {
    const many = this.#requests >= MANY_REQUESTS && this.#clients.size >= MANY_CLIENTS;
    return many && !this.#haveSeveralAddresses;
  }
}
