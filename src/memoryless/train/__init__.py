"""Training in torch: the network, the loop, the learner and the strategies."""
