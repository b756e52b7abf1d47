"""A model's weights on its way through a training."""

import copy

from vocab_lit.text.files import write_file


class Snapshots:
    "A model's weights at some steps, in the folder of the run where there is one, so that a run that resumes has them."

    def __init__(self, at):
        self.at, self._states, self.folder = at, {}, None

    def keep(self, model, step):
        import torch

        state = {name: w.detach().cpu().clone() for name, w in model.state_dict().items()}
        if not self.folder or not step:
            self._states[step] = state  # step 0 is made anew
        elif not (file := self.folder / f"seen-{step}.pt").exists():
            with write_file(file) as part:
                torch.save(state, part)

    def callback(self):  # for the Trainer
        from transformers import TrainerCallback

        class Keep(TrainerCallback):
            def on_step_end(_, args, state, control, model=None, **__):
                if state.global_step in self.at and state.is_world_process_zero:
                    self.keep(model, state.global_step)

        return Keep()

    @property
    def states(self):
        import torch

        files = self.folder.glob("seen-*.pt") if self.folder else ()
        return self._states | {int(f.stem[5:]): torch.load(f, mmap=True) for f in files}


def with_weights(model, state):
    changed = copy.deepcopy(model)
    changed.load_state_dict(state)
    return changed.eval()
