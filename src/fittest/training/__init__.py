"""Training: initial arrays, the loop, what it records. Only its torch modules import torch."""
