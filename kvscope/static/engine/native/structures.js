/**
 * Reads and writes C structures in the memory of a WebAssembly module, whose pointers have 32 bits.
 *
 * The definitions come from the packed model (kvscope/model/native/packed.py): by name, the fields in order, each with its type.
 */

/** @typedef {{size: number, get: (view: DataView, at: number) => number, set: (view: DataView, at: number, value: number) => void}} Kind */

/** @type {(size: number, name: "Int32"|"Uint32"|"Float32"|"Float64") => Kind} */
const kind = (size, name) => ({
  size,
  get: (view, at) => view[`get${name}`](at, true),
  set: (view, at, value) => view[`set${name}`](at, value, true),
});

/** @type {Object<string, Kind>} */
const NUMBERS = {
  i32: kind(4, "Int32"),
  i64: {
    size: 8,
    get: (view, at) => Number(view.getBigInt64(at, true)),
    set: (view, at, value) => view.setBigInt64(at, BigInt(value), true),
  },
  f32: kind(4, "Float32"),
  f64: kind(8, "Float64"),
  pointer: kind(4, "Uint32"),
};

/**
 * @param {Object<string, [string, any][]>} definitions
 * @param {import("./memory.js").Memory} memory
 */
export function createStructures(definitions, memory) {
  const layouts = new Map();

  /** @returns {{size: number, alignment: number}} of a type */
  const measure = (type) => {
    if (type.structure) return layoutOf(type.structure);
    if (type.array) return { size: 4 * type.array, alignment: 4 };
    const { size } = NUMBERS[type.list ? "pointer" : type];
    return { size, alignment: size };
  };

  const layoutOf = (name) => {
    if (!layouts.has(name)) {
      const places = new Map();
      let size = 0;
      let alignment = 1;
      for (const [field, type] of definitions[name]) {
        const own = measure(type);
        size = Math.ceil(size / own.alignment) * own.alignment;
        places.set(field, { at: size, type });
        size += own.size;
        alignment = Math.max(alignment, own.alignment);
      }
      layouts.set(name, { size: Math.ceil(size / alignment) * alignment, alignment, places });
    }
    return layouts.get(name);
  };

  /**
   * Writes a structure and the lists that it points to. A field without a value is 0.
   *
   * @param {string} name
   * @param {Object<string, any>} values by field: numbers, addresses, objects of structures, and lists of either
   */
  const write = (name, values, at) => {
    for (const [field, place] of layoutOf(name).places) writeField(place, at, values[field] ?? 0);
  };

  const writeField = ({ at, type }, start, value) => {
    const address = start + at;
    if (type.structure) write(type.structure, value || {}, address);
    else if (type.array) {
      for (let i = 0; i < type.array; i++) NUMBERS.pointer.set(memory.all(), address + 4 * i, value ? value[i] : 0);
    } else {
      const number = type.list && Array.isArray(value) ? list(type.list, value) : value;
      NUMBERS[type.list ? "pointer" : type].set(memory.all(), address, Number(number));
    }
  };

  /** @returns {number} the address of a list of structures, written one after another */
  const list = (name, all) => {
    const { size } = layoutOf(name);
    const address = memory.allocate(size * all.length);
    all.forEach((values, i) => {
      write(name, values, address + i * size);
    });
    return address;
  };

  return {
    list,
    /** @returns {number} the field of structure `index` in the list at this address */
    read(name, field, address, index = 0) {
      const { size, places } = layoutOf(name);
      const { at, type } = places.get(field);
      return NUMBERS[type].get(memory.all(), address + index * size + at);
    },
    /** Changes one number of a structure. */
    set(name, field, address, value) {
      const { at, type } = layoutOf(name).places.get(field);
      NUMBERS[type].set(memory.all(), address + at, value);
    },
  };
}
