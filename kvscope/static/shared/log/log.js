/** The base of every log: it takes frames in order. The first frame opens it, the last closes it. */

export class Log {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.open = null;
    this.close = null;
    this.nextSeq = 0;
  }

  /**
   * Takes the next frame.
   *
   * @param {{kind: string, seq: number, run: string, data: Object, tensors?: Object}} frame
   * @throws {RangeError} when the frame is not the next one of this log, or its kind is not allowed
   */
  push(frame) {
    if (frame.run !== this.id) throw new RangeError(`frame of run ${frame.run}, not ${this.id}`);
    if (frame.seq !== this.nextSeq) throw new RangeError(`frame ${frame.seq}, expected ${this.nextSeq}`);
    this.fold(frame);
    this.nextSeq = frame.seq + 1;
  }

  /** @param {any} _frame handled by each kind of log */
  fold(_frame) {}
}
