// Standard input to output: workerd's configuration (workerd.capnp, `Config`) with the arguments as its
// `v8Flags`, which were none.
import { buffer } from "node:stream/consumers";
import { Message, ObjectSize, Struct, TextList, utils } from "capnp-es";

// The one field that is written; eight bytes and six pointers is how large the struct is.
class Config extends Struct {
  static _capnp = { displayName: "Config", id: "", size: new ObjectSize(8, 6) };
  static V8_FLAGS = 2;
}

const message = new Message(await buffer(process.stdin), false);
const flags = process.argv.slice(2);
const list = utils.initList(Config.V8_FLAGS, TextList, flags.length, message.getRoot(Config));
flags.forEach((flag, index) => list.set(index, flag));
process.stdout.write(Buffer.from(message.toArrayBuffer()));
