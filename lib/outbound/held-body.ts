/** So much is read before the caller asks, so that a small answer that is never read ends as well. */
const READ_AHEAD_BYTES = 65_536;

type Bytes = Uint8Array<ArrayBuffer>;
type Reader = ReadableStreamDefaultReader<Bytes>;

/**
 * A body that is read a little ahead of its reader, and tells when it has ended: everything was
 * received, it failed, or it was cancelled. What reads the network refers to this object alone and
 * not to the stream of the caller, so that a stream that the caller has dropped is garbage.
 */
class HeldBody {
  #chunks: Bytes[] = [];
  #bytes = 0;
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #isFilling = false;
  #wake: (() => void) | undefined;

  constructor(
    private readonly reader: Reader,
    onEnd: () => void,
  ) {
    reader.closed.then(onEnd, (error: unknown) => {
      this.#fail(error);
      onEnd();
    });
    void this.#fill();
  }

  /** The next piece; undefined at the end. */
  async next(): Promise<Bytes | undefined> {
    while (this.#chunks.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#failure) throw this.#failure.error;
    const chunk = this.#chunks.shift();
    this.#bytes -= chunk?.byteLength ?? 0;
    void this.#fill();
    return chunk;
  }

  async cancel(reason?: unknown): Promise<void> {
    this.#chunks = [];
    this.#end();
    await this.reader.cancel(reason);
  }

  async #fill(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (!this.#isOver && this.#bytes < READ_AHEAD_BYTES) {
        const { done, value } = await this.reader.read();
        if (done) this.#end();
        else this.#take(value);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isFilling = false;
    }
  }

  #take(chunk: Bytes): void {
    if (this.#isOver) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    this.#wake?.();
  }

  /** As in any stream, an error comes before what has not been read yet. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#chunks = [];
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.#wake?.();
  }
}

/** Ends the bodies of streams that were dropped before their end. */
const DROPPED = new FinalizationRegistry<HeldBody>((body) => {
  body.cancel('The response was dropped without being read.').catch(() => undefined);
});

/** What the stream of the caller reads from. It lives as long as anything can still read. */
export class HeldSource {
  #body: HeldBody | undefined;
  #isAtEnd = false;

  /** Begins to read; `onEnd` is called once, when the body has ended in whatever way. */
  open(stream: ReadableStream<Bytes>, onEnd: () => void): void {
    this.#body = new HeldBody(stream.getReader(), onEnd);
    DROPPED.register(this, this.#body);
  }

  /** The next piece; undefined at the end. */
  async next(): Promise<Bytes | undefined> {
    return this.#body?.next();
  }

  async cancel(reason?: unknown): Promise<void> {
    await this.#body?.cancel(reason);
  }

  /** The stream for the caller, which can be read by bytes where that of the network can. */
  streamLike(stream: ReadableStream<Bytes>): ReadableStream<Bytes> {
    const cancel = (reason: unknown) => this.cancel(reason);
    if (!isByteStream(stream)) {
      const pull = (controller: ReadableStreamDefaultController<Bytes>) => this.#pass(controller);
      return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
    }
    const pull = async (controller: ReadableByteStreamController) => {
      await this.#pass(controller);
      // A reader that brought its own buffer is only told of the end by an answer of nothing.
      if (this.#isAtEnd) controller.byobRequest?.respond(0);
    };
    const bytes: ReadableStream<unknown> = new ReadableStream({ type: 'bytes', pull, cancel });
    return bytes as ReadableStream<Bytes>;
  }

  async #pass(controller: { enqueue(chunk: Bytes): void; close(): void }): Promise<void> {
    const chunk = await this.next();
    if (chunk) return controller.enqueue(chunk);
    this.#isAtEnd = true;
    controller.close();
  }
}

function isByteStream(stream: ReadableStream<Bytes>): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}
